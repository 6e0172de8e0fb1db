/** The part of a function URL's event that is read here (payload format 2.0). */
export interface HttpEvent {
  readonly rawPath: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly http: { readonly method: string } };
  readonly body?: string | undefined;
  readonly isBase64Encoded?: boolean | undefined;
}

/** What such a function answers. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(statusCode: number, body: object): HttpAnswer {
  return { statusCode, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' }, body: JSON.stringify(body) };
}

/** The fields of a form. */
export function parametersOf({ body = '', isBase64Encoded }: HttpEvent): URLSearchParams {
  return new URLSearchParams(isBase64Encoded ? Buffer.from(body, 'base64').toString() : body);
}

/** The client and its secret, by `client_secret_basic` or `client_secret_post` (RFC 6749, section 2.3.1). */
export function clientOf(event: HttpEvent, parameters: URLSearchParams): { readonly id: string; readonly secret: string } {
  const basic = credentialsOf(event, 'Basic');
  if (basic === undefined) return { id: parameters.get('client_id') ?? '', secret: parameters.get('client_secret') ?? '' };
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decodeForm);
  return { id, secret };
}

/** The bearer token. */
export function tokenOf(event: HttpEvent): string | undefined {
  return credentialsOf(event, 'Bearer');
}

function credentialsOf({ headers }: HttpEvent, scheme: string): string | undefined {
  const [given, credentials] = (headers.authorization ?? '').split(' ');
  return given === scheme ? credentials : undefined;
}

/** Both are encoded as a form's fields are. */
function decodeForm(text: string): string {
  return decodeURIComponent(text.replace(/\+/g, ' '));
}
