const NAMES = [
  'UnrecognizedClientException', 'IncompleteSignatureException', 'MissingAuthenticationTokenException', 'ExpiredTokenException', 'CredentialsProviderError',
];

/**
 * Is this how AWS's services and the SDK say that they do not know the caller? No grant and no waiting cures that. A signature that was too old when it came, after a
 * freeze, is another matter: the next one is new.
 */
export function isBadCredentials({ name = '', message = '' }: { readonly name?: string | undefined; readonly message?: string | undefined }): boolean {
  return NAMES.includes(name) || (name === 'InvalidSignatureException' && !/expired|not yet current/.test(message));
}
