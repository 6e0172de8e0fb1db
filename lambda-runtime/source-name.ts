/*
 * The name of a source, `provider#settings`: who issues the tokens, and what else they depend on.
 */

export function sourceName(provider: string, settings: string): string {
  return `${provider}#${settings}`;
}

/** Refresh tokens are of the provider alone. */
export function providerOf(source: string): string | undefined {
  return source.split('#')[0];
}
