/** What a deployment does about a refresher's token. */
export enum FirstToken {
  /**
   * Fetches a token if none is stored or a refresh is due, and does not wait for it: the provider cannot fail a deployment. Looks again whenever the refresher
   * changes, so that a token of a source that was changed is replaced at once.
   */
  ASYNC = 'ASYNC',

  /**
   * Fetches a token when the refresher is created, and fails the deployment if that fails.
   *
   * For stacks that are of no use without the token. What needs it can wait for `trigger`.
   */
  REQUIRED = 'REQUIRED',

  /**
   * Nothing: the schedule or the first reader who asks gets the token.
   *
   * For providers that count each token, or that only the schedule may ask.
   */
  NONE = 'NONE',
}
