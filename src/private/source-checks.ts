import { Token } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';
import { SharedTokenTableError } from './errors';
import { hasFragment, isEncryptedOrLocal, isFieldPath, isReservedParameter, isScope, placeholdersOf, ReservedParameter } from './source-rules';

/** Ends of names, in letters alone, that say that a value is a credential. What stands before them does not matter: `X-Vault-Token`, `user[password]`. */
const CREDENTIAL_NAME = new RegExp(`(${[
  'authorization', 'cookie', 'token', 'assertion', 'bearer', 'signature', 'credentials?', 'sessionid', 'sessid',
  'secret', 'secretid', 'password', 'passwd', 'passphrase', 'passcode', 'pwd',
  // Keys of which only one party or two should know. Of other keys (`public_key`, `partitionKey`) all may.
  ...['api', 'app', 'application', 'access', 'account', 'auth', 'client', 'encryption', 'functions', 'hmac', 'license', 'master', 'private', 'secret', 'security', 'shared',
    'signing', 'subscription'].map(kind => `${kind}key`),
].join('|')})$`);

/** Last words of names that say the same, and are ends of harmless words, too (`bypass`, `shipping`). */
const CREDENTIAL_WORDS = ['pass', 'pin', 'psk', 'jwt', 'sig'];

/** TypeScript and jsii see to this; plain JavaScript does not. By what it can do: it may be of another copy of this package. */
export function checkSource(scope: IConstruct, source: { readonly _bind?: unknown } | undefined): void {
  if (typeof source?._bind === 'function') return;
  throw new SharedTokenTableError(scope, {
    what: 'A refresher gets its tokens from a source.',
    got: source === undefined || source === null ? 'no `source`' : 'a `source` that is none',
    expected: 'what a method of `TokenSource` returns',
    todo: 'Pass `source: TokenSource.clientCredentials({ ... })`, or another of its kinds.',
  });
}

/** An address that a request with credentials may be sent to. */
export function checkUrl(scope: IConstruct, option: string, url: string): void {
  if (Token.isUnresolved(url)) return;
  const refuse = (what: string, got: string) => {
    throw new SharedTokenTableError(scope, {
      what,
      got,
      expected: 'an https URL without credentials and fragment (http on localhost, 127.0.0.1 or [::1])',
      todo: `Correct \`${option}\`.`,
    });
  };
  const parsed = parse(url);
  if (!parsed) return refuse(`\`${option}\` is a URL.`, JSON.stringify(url) ?? 'nothing');
  // Not shown, for it may hold what nobody should see.
  if (parsed.username || parsed.password) return refuse('URLs end up in logs and templates, so they hold no credentials.', 'a user or password before the host');
  if (url.includes('{{')) return refuse('URLs end up in logs and templates, so they hold no credentials.', 'a URL with {{...}}');
  const name = [...parsed.searchParams.keys()].find(isCredentialQuery);
  if (name !== undefined) return refuse('URLs end up in logs and templates, so they hold no credentials.', `a query with '${name}'`);
  if (hasFragment(url)) return refuse('A request has no fragment.', `'${url}'`);
  if (!isEncryptedOrLocal(parsed)) refuse('Credentials are sent encrypted, or to the same machine.', `'${url}'`);
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

export function checkScopes(scope: IConstruct, scopes: string[] | undefined): void {
  if (scopes === undefined || Token.isUnresolved(scopes)) return;
  const wrong = Array.isArray(scopes) ? scopes.find(one => !Token.isUnresolved(one) && !isScope(one)) : String(scopes);
  if (wrong === undefined && scopes.length > 0) return;
  throw new SharedTokenTableError(scope, {
    what: '`scopes` is a list of scopes, each an item of its own.',
    got: wrong === undefined ? 'an empty list' : `'${wrong}'`,
    expected: 'at least one, each of printable ASCII characters without spaces, quotes and backslashes',
    todo: "Write `scopes: ['orders.read', 'orders.write']`, or leave it out if the server decides.",
  });
}

/** What to do instead. */
const INSTEAD: Readonly<Record<ReservedParameter, string>> = {
  grant_type: 'choose another source',
  scope: 'use `scopes`',
  audience: 'use `audience`',
  resource: 'use `resource`',
  client_id: 'put it into the credentials',
  client_secret: 'put it into the credentials',
  refresh_token: 'put it into the credentials',
  client_assertion: 'use `clientAuthentication`',
  client_assertion_type: 'use `clientAuthentication`',
};

export function checkParameters(scope: IConstruct, parameters: { readonly [name: string]: string }): void {
  for (const name of Object.keys(parameters)) {
    if (isReservedParameter(name)) {
      throw new SharedTokenTableError(scope, {
        what: `The parameter ${name} of a token request is not for \`parameters\`.`,
        got: `'${name}' among them`,
        expected: 'parameters that only this server knows',
        todo: `Remove it, and ${INSTEAD[name]}.`,
      });
    }
    if (isCredentialName(name)) refuseCredential(scope, `the parameter '${name}'`, 'Use `TokenSource.httpRequest`, whose body takes fields of the credentials.');
  }
}

/** Headers and the body of a request, in which `{{field}}` stands for what must not be in a template. */
export function checkTemplates(scope: IConstruct, part: string, value: unknown, name = ''): void {
  if (Token.isUnresolved(value)) return;
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) checkTemplates(scope, part, inner, Array.isArray(value) ? name : key);
    return;
  }
  const isLiteral = typeof value === 'number' || (typeof value === 'string' && value !== '' && !namesField(value));
  if (isLiteral && isCredentialName(name)) refuseCredential(scope, `'${name}' in \`${part}\``, "Write the name of its field in the credentials, such as '{{apiKey}}'.");
  if (typeof value !== 'string' || !placeholdersOf(value).includes('')) return;
  throw new SharedTokenTableError(scope, {
    what: 'Two pairs of braces stand for a field of the credentials.',
    got: `braces without a name ('{{}}') in \`${part}\``,
    expected: "'{{field}}'",
    todo: 'Write the name of a field between the braces, or remove them.',
  });
}

function namesField(text: string): boolean {
  return placeholdersOf(text).some(field => field !== '');
}

/** In text at any depth. Names are left as they are. */
export function holdsPlaceholders(value: unknown): boolean {
  if (typeof value === 'string') return namesField(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsPlaceholders);
}

/** Something at any depth that is known only at deployment. */
export function holdsUnresolved(value: unknown): boolean {
  if (Token.isUnresolved(value)) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsUnresolved);
}

/** The platform knows what a header may be. */
export function checkHeaders(scope: IConstruct, headers: { readonly [name: string]: string }): void {
  try {
    new Headers(headers);
  } catch (error) {
    throw new SharedTokenTableError(scope, {
      what: 'A header has a name and a value that HTTP allows.', got: `"${(error as Error).message}"`, expected: 'text without line breaks', todo: 'Correct `headers`.',
    });
  }
}

/** A field of an answer, or a path of fields. */
export function checkPath(scope: IConstruct, option: string, path: string | undefined): void {
  if (path === undefined || Token.isUnresolved(path) || isFieldPath(path)) return;
  throw new SharedTokenTableError(scope, {
    what: `\`${option}\` names a field of the answer.`, got: `'${path}'`, expected: "a field such as 'token', or a path such as 'data.token'", todo: `Correct \`${option}\`.`,
  });
}

/** Of an option whose values are text. TypeScript and jsii see to this; plain JavaScript does not. */
export function checkTexts(scope: IConstruct, option: string, values: { readonly [name: string]: string } | undefined): void {
  const wrong = Object.entries(values ?? {}).find(([, value]) => typeof value !== 'string' && !Token.isUnresolved(value));
  if (!wrong) return;
  throw new SharedTokenTableError(scope, {
    what: `The values of \`${option}\` are text.`, got: `a value of '${wrong[0]}' that is none`, expected: 'a string', todo: `Write it as text in \`${option}\`.`,
  });
}

export function checkText(scope: IConstruct, option: string, text: string | undefined): void {
  if (text !== '') return;
  throw new SharedTokenTableError(scope, {
    what: `\`${option}\` is a text that the server knows.`, got: "''", expected: 'at least one character', todo: `Correct \`${option}\`, or leave it out.`,
  });
}

/** Words of a name are told apart by capitals and by what is no letter; numbers at its end (`api_key_2`) tell nothing. */
function isCredentialName(name: string): boolean {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z\d]+|\d+$/).filter(word => word !== '');
  return CREDENTIAL_NAME.test(words.join('')) || CREDENTIAL_WORDS.includes(words.at(-1) ?? '');
}

/** In a body, a key may be that of a pair; in a query it is the one that lets in. */
function isCredentialQuery(name: string): boolean {
  return isCredentialName(name) || name.toLowerCase() === 'key';
}

function refuseCredential(scope: IConstruct, got: string, todo: string): never {
  throw new SharedTokenTableError(scope, {
    what: 'What a stack tells its refresher stands in the template and in the environment of a function, where a credential must not be.',
    got: `${got} with a value of its own`,
    expected: 'credentials in `credentials` alone',
    todo,
  });
}
