import { parseArgs } from 'node:util';
import type { SharedTokenOperator, SharedTokenState } from './index';
import { ENV } from '../../src/private/contract';
import { momentOf, printable } from '../token-item';

/*
 * The command `shared-token`: arguments in, text and an exit status out.
 */

const USAGE = `Usage: shared-token <what> <tokenId> --table <name or ARN> [--json]

  state            show who refreshes the token, when it ends and what went wrong; never the token
  end-lease        end the lease of a holder that hangs or is dead; not while it may live
  clear-failure    end the cool-down after a failure that was cured
  expire           have the token expire now: all fetch a new one, or wait for it, at their next look at the table

  --table <table>  name or ARN of the table (default: the variable ${ENV.TABLE})
  --json           print one JSON object and nothing else on the standard output; moments are milliseconds since the epoch
  --help           show this text

A token id that begins with "-" goes behind "--". Credentials and region come from the environment, as for the AWS CLI; the role needs what grantOperate grants.
Exit status: 0 when it was done or nothing was to do, 1 when not, 2 for arguments that make no sense.
`;

type What = 'state' | 'end-lease' | 'clear-failure' | 'expire';

interface Arguments {
  readonly what: What;
  readonly tokenId: string;
  readonly table: string;
  readonly json: boolean;
}

/** Where it runs. */
export interface CommandWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Loaded only when it is needed: it needs the AWS SDK. */
  readonly load: () => Promise<{ readonly SharedTokenOperator: typeof SharedTokenOperator }>;
}

/** What it does, and what there may be nothing of. */
const MENDS: Readonly<Record<Exclude<What, 'state'>, readonly [keyof SharedTokenOperator & ('endLease' | 'clearFailure' | 'expire'), done: string, nothing: string]>> = {
  'end-lease': ['endLease', 'The lease has ended: the next who needs the token refreshes it.', 'Nothing to do: there is no lease. If that surprises you: is the id right?'],
  'clear-failure': ['clearFailure', 'The cool-down has ended: the next who needs the token may refresh it.', 'Nothing to do: no failure is noted. If that surprises you: is the id right?'],
  'expire': ['expire', 'The token has expired: all who use it get a new one at their next look at the table.', 'Nothing to do: no token of this id is stored, or it has expired already. If that surprises you: is the id right?'],
};

/** @returns the exit status */
export async function runCommand(args: readonly string[], world: CommandWorld): Promise<0 | 1 | 2> {
  const { out, err } = world;
  let given: Arguments | 'help';
  try {
    given = read(args, world.environment);
  } catch (error) {
    err(`shared-token: ${messageOf(error)}\n\n${USAGE}`);
    return 2;
  }
  if (given === 'help') {
    out(USAGE);
    return 0;
  }
  const { what, tokenId, table, json } = given;
  const tell = (result: object, text: string) => out(json ? `${JSON.stringify({ tokenId, ...result })}\n` : `${text}\n`);
  try {
    const operator = new (await world.load()).SharedTokenOperator(tokenId, { table });
    if (what === 'state') {
      const state = await operator.state();
      tell(state, textOf(state));
      return 0;
    }
    const [method, done, nothing] = MENDS[what];
    const isDone = await operator[method]();
    tell({ done: isDone }, isDone ? done : nothing);
    return 0;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const message = code === 'MODULE_NOT_FOUND'
      ? 'the AWS SDK is not installed where this command is: npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb @aws-sdk/util-dynamodb'
      : messageOf(error);
    if (json) out(`${JSON.stringify({ tokenId, error: { code, message } })}\n`);
    else err(`shared-token: ${message}\n`);
    return 1;
  }
}

/** @throws where the arguments make no sense, saying what does */
function read(args: readonly string[], environment: CommandWorld['environment']): Arguments | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: true,
    options: { table: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return 'help';
  const [what, tokenId, ...more] = positionals;
  if (!isWhat(what)) throw new Error(`${what === undefined ? 'What to do is missing' : `There is no "${what}"`}: state, ${Object.keys(MENDS).join(', ')}.`);
  if (!tokenId || more.length > 0) throw new Error(`${what} takes one token id, got ${tokenId ? positionals.length - 1 : 'none'}.`);
  const table = values.table ?? environment[ENV.TABLE];
  if (!table) throw new Error(`Which table? Give --table, or set the variable ${ENV.TABLE}.`);
  return { what, tokenId, table, json: values.json ?? false };
}

function isWhat(what: string | undefined): what is What {
  return what !== undefined && (what === 'state' || Object.hasOwn(MENDS, what));
}

function textOf({ tokenId, summary, issuedAt, expiresAt, lease, failure }: SharedTokenState): string {
  const moments: readonly (readonly [string, number | undefined])[] = [
    ['issued', issuedAt], ['expires', expiresAt], ['lease since', lease?.since], ['lease until', lease?.until], ['retry at', failure?.retryAt],
  ];
  const lines = moments.flatMap(([name, at]) => at === undefined ? [] : [`  ${name.padEnd(12)}${momentOf(at)}`]);
  return [`${printable(tokenId)}: ${summary}`, ...lines].join('\n');
}

function messageOf(error: unknown): string {
  return printable(error instanceof Error ? error.message : String(error));
}
