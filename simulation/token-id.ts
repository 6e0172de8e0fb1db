/** The one token of all runs. */
export const TOKEN_ID = 'crm';
