import { Token } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';
import { TOKEN_ID_MAX_BYTES } from './contract';
import { SharedTokenTableError } from './errors';

/** Means every token of the table. */
export const ALL_TOKENS = '*';

/** Token ids, sorted by the condition operator that can express them. */
export interface TokenIdSelection {
  /** Every token: no condition on the key is needed. */
  readonly all: boolean;
  /** Compared as they are. In a `StringLike` a literal could match other ids. */
  readonly literals: string[];
  /** Prefixes with one trailing `*`. */
  readonly patterns: string[];
}

/**
 * IAM takes policies of U+0020 to U+00FF and, between these, of printable characters only ("any printable ASCII character", "the printable characters in the
 * Basic Latin and Latin-1 Supplement character set (through \u00FF)": PolicyDocument in the API reference of PutRolePolicy). So the control characters U+007F
 * to U+009F are out, although IAM's regular expression lets them pass: nobody could see in a policy which token it is for.
 */
const POLICY_CHARACTERS = /^[\u0020-\u007E\u00A0-\u00FF]*$/;

const CONTROL_CHARACTER = /[\u0000-\u001F\u007F-\u009F]/g;

/** Sorts ids and patterns, and refuses those that a policy would read as something else. */
export function selectTokenIds(scope: IConstruct, tokenIds: readonly string[]): TokenIdSelection {
  if (!Array.isArray(tokenIds)) {
    throw new SharedTokenTableError(scope, {
      what: 'The tokens of a grant are a list of ids.',
      got: show(tokenIds),
      expected: 'a list of strings',
      todo: "Put the id into a list: `tokenIds: ['crm']`.",
    });
  }
  if (tokenIds.length === 0) {
    throw new SharedTokenTableError(scope, {
      what: 'A grant names the tokens it is for.',
      got: 'no token id',
      expected: `at least one id or pattern, or '${ALL_TOKENS}' for all`,
      todo: `Name the ids, or pass '${ALL_TOKENS}' if every token of this table is meant.`,
    });
  }
  for (const tokenId of tokenIds) checkTokenId(scope, tokenId);

  const unique = [...new Set(tokenIds)];
  return {
    all: unique.includes(ALL_TOKENS),
    literals: unique.filter(tokenId => !isPattern(tokenId)),
    patterns: unique.filter(isPattern),
  };
}

/** Refuses an id that is not one token's. */
export function checkSingleTokenId(scope: IConstruct, tokenId: string): void {
  if (typeof tokenId !== 'string' || tokenId === '') {
    throw new SharedTokenTableError(scope, {
      what: 'A refresher refreshes one token.',
      got: show(tokenId),
      expected: `an id of 1 to ${TOKEN_ID_MAX_BYTES} bytes`,
      todo: "Pass `tokenId: 'crm'`.",
    });
  }
  checkTokenId(scope, tokenId);
  if (tokenId.includes('{{resolve:')) {
    throw new SharedTokenTableError(scope, {
      what: "CloudFormation reads '{{resolve:' in the environment of a function as more than characters.",
      got: show(tokenId),
      expected: 'an id without it',
      todo: 'Choose another id.',
    });
  }
  if (!isPattern(tokenId)) return;
  throw new SharedTokenTableError(scope, {
    what: 'A refresher refreshes one token.',
    got: show(tokenId),
    expected: "an id without '*'",
    todo: 'Add a refresher for each token.',
  });
}

function isPattern(tokenId: string): boolean {
  return tokenId.endsWith('*');
}

function checkTokenId(scope: IConstruct, tokenId: string): void {
  if (typeof tokenId !== 'string') {
    throw new SharedTokenTableError(scope, {
      what: 'A token id is a string.',
      got: show(tokenId),
      expected: `an id of 1 to ${TOKEN_ID_MAX_BYTES} bytes`,
      todo: `Look where the value comes from, or pass '${ALL_TOKENS}' if every token of this table is meant.`,
    });
  }
  // In a list, because the element of an unresolved list looks like a literal by itself.
  if (Token.isUnresolved([tokenId]) || Token.isUnresolved(tokenId)) {
    throw new SharedTokenTableError(scope, {
      what: 'A token id becomes part of a policy as it is written.',
      got: 'a CDK token, whose value is known only at deployment',
      expected: 'a literal string',
      todo: "Write the id out, or grant a prefix such as 'bot-*' and choose the id at run time.",
    });
  }
  if (tokenId === '') {
    throw new SharedTokenTableError(scope, {
      what: 'A token id is the partition key of an item, which cannot be empty.',
      got: "''",
      expected: `an id of 1 to ${TOKEN_ID_MAX_BYTES} bytes`,
      todo: `Name a token, or pass '${ALL_TOKENS}' for all.`,
    });
  }
  const bytes = Buffer.byteLength(tokenId, 'utf8');
  if (bytes > TOKEN_ID_MAX_BYTES) {
    throw new SharedTokenTableError(scope, {
      what: "DynamoDB's limit for a partition key also limits a token id.",
      got: `'${tokenId.slice(0, 20)}...' of ${bytes} bytes`,
      expected: `at most ${TOKEN_ID_MAX_BYTES} bytes of UTF-8`,
      todo: 'Choose a shorter id.',
    });
  }
  const beforeLastStar = isPattern(tokenId) ? tokenId.slice(0, -1) : tokenId;
  const special = ['*', '?', '${'].find(characters => beforeLastStar.includes(characters));
  if (special !== undefined) {
    throw new SharedTokenTableError(scope, {
      what: `IAM reads '${special}' in a policy as more than a character.`,
      got: show(tokenId),
      expected: "a literal id, or a prefix with one '*' at its end",
      todo: `Grant another id or a prefix that ends before '${special}'.`,
    });
  }
  if (!POLICY_CHARACTERS.test(tokenId)) {
    throw new SharedTokenTableError(scope, {
      what: 'A policy can hold only the printable characters from U+0020 to U+00FF.',
      got: show(tokenId),
      expected: 'an id of those characters',
      todo: 'Choose another id, or grant a prefix that ends before the first such character.',
    });
  }
}

/** A value as a message shows it: with control characters spelled out, which a terminal would swallow. */
function show(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return 'an object'; // a construct, say: it cannot be written as JSON
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value);
  return `'${value.replace(CONTROL_CHARACTER, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}'`;
}
