import { Lazy } from 'aws-cdk-lib';
import { ENV } from './contract';
import { Reference } from './reference';
import { RefresherMap } from './refresher-map';

/** An environment variable that this library sets on a function, and what a person is told who sets it as well. */
export interface Variable {
  readonly name: string;
  readonly value: string;
  /** What it stands for. */
  readonly meaning: string;
  /** Why a function has no second value of it, and the way out. */
  readonly taken: { readonly what: string; readonly todo: string };
  /** What helps but removing the other value. */
  readonly alternative?: string;
}

/** The table, under a name that can be chosen. */
export function tableVariable(name: string, table: Reference): Variable {
  return {
    name,
    value: table.render(),
    meaning: 'the table that the function uses',
    taken: {
      what: `The variable ${name} of this function already names another table.`,
      todo: "Give the second table a variable of its own: `attachTo(fn, { tableVariable: 'ERP_TOKENS' })` and, in the function, `new SharedToken('erp', { table: process.env.ERP_TOKENS })`.",
    },
    alternative: 'choose another variable for the table with `tableVariable`',
  };
}

/** The timeout follows the function, so that nothing of ours can differ. */
export function timeoutVariable(timeoutMs: () => number | undefined): Variable {
  return fixed(ENV.FUNCTION_TIMEOUT_MS, Lazy.uncachedString({ produce: () => timeoutMs()?.toString() }), 'the timeout of the function');
}

/** All refreshers of a function, however many are still to come. */
export function refreshersVariable(refreshers: RefresherMap): Variable {
  return fixed(ENV.REFRESHERS, refreshers.render(), 'the refreshers that the function asks');
}

/** The one token of a refresher. */
export function tokenIdVariable(tokenId: string): Variable {
  return fixed(ENV.TOKEN_ID, tokenId, 'the token that the function refreshes');
}

/** How long its auth request may take. */
export function authLimitVariable(authLimitMs: number): Variable {
  return fixed(ENV.AUTH_LIMIT_MS, String(authLimitMs), 'the limit of its auth request');
}

/** Where a prebuilt refresher gets its tokens. */
export function sourceVariable(settings: string): Variable {
  return fixed(ENV.SOURCE, settings, 'the source that the refresher asks');
}

function fixed(name: string, value: string, meaning: string): Variable {
  return {
    name,
    value,
    meaning,
    taken: { what: `The variable ${name} of this function, ${meaning}, has a value already.`, todo: 'Use another function.' },
  };
}
