/** What a consumer may do with the tokens it was given. */
export enum TokenAccess {
  /**
   * Get tokens that others refresh. The consumer's policy lets it see an item's readable attributes and never the stored refresh token.
   *
   * For functions that hold no credentials of the provider.
   */
  READ = 'READ',

  /**
   * Get tokens, and refresh them when they are due or were rejected.
   *
   * For functions that give a `refresh` to their `SharedToken`. Assume that such a function can see whatever the item holds.
   */
  REFRESH = 'REFRESH',
}
