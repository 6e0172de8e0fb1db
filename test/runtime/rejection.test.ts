import { isUnauthorized } from '../../lambda-runtime/rejection';

const spellings = (status: unknown): readonly object[] => [
  { status }, // fetch, axios response, gaxios
  { statusCode: status }, // http.IncomingMessage, got
  { response: { status } }, // axios error, ky
  { response: { statusCode: status } }, // got error, request
  { $metadata: { httpStatusCode: status } }, // AWS SDK
];

describe('a rejection of the token', () => {
  test('is status 401, on a value or on an error, as HTTP clients spell it', () => {
    for (const spelling of spellings(401)) {
      expect(isUnauthorized({ value: spelling })).toBe(true);
      expect(isUnauthorized({ error: spelling })).toBe(true);
      expect(isUnauthorized({ error: Object.assign(new Error('no'), spelling) })).toBe(true);
    }
    expect(isUnauthorized({ value: new Response(null, { status: 401 }) })).toBe(true);
  });

  test.each([200, 302, 400, 403, 404, 407, 419, 429, 500, 503, 0, NaN, undefined, null, '', 'Unauthorized', true])('is not status %p', status => {
    for (const spelling of spellings(status)) {
      expect(isUnauthorized({ value: spelling })).toBe(false);
      expect(isUnauthorized({ error: spelling })).toBe(false);
    }
  });

  test('is any of the fields: a text in one of them does not hide the 401 in another', () => {
    expect(isUnauthorized({ error: Object.assign(new Error('no'), { status: 'fail', statusCode: 401 }) })).toBe(true);
    expect(isUnauthorized({ error: { status: 0, statusCode: 401 } })).toBe(true);
    expect(isUnauthorized({ error: { status: 500, response: { status: 401 } } })).toBe(true);
  });

  test.each([undefined, null, 401, '401', true, [], [401], () => 401, Symbol('401'), 401n])('is not %p, which has no status', subject => {
    expect(isUnauthorized({ value: subject })).toBe(false);
    expect(isUnauthorized({ error: subject })).toBe(false);
  });

  test('is not a body that tells of a 401, nor a cause', () => {
    expect(isUnauthorized({ value: { body: { status: 401 }, data: { statusCode: 401 } } })).toBe(false);
    expect(isUnauthorized({ error: new Error('401', { cause: { status: 401 } }) })).toBe(false);
  });

  test('a thrown undefined is an outcome, too', () => {
    expect(isUnauthorized({ error: undefined })).toBe(false);
  });

  test('is not a value whose getter throws: that is the caller\'s to find out', () => {
    const hostile = { get response(): never { throw new Error('a getter\'s own trouble'); } };
    expect(isUnauthorized({ value: hostile })).toBe(false);
  });

  test('half-made responses cause no error', () => {
    const halves: unknown[] = [{ response: null }, { response: 401 }, { $metadata: null }, { $metadata: 401 }, Object.create(null)];
    for (const subject of halves) {
      expect(isUnauthorized({ value: subject })).toBe(false);
      expect(isUnauthorized({ error: subject })).toBe(false);
    }
  });
});
