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

/** IAM's grammar for policies has these characters and no others. */
const POLICY_CHARACTERS = /^[\u0020-\u00FF]*$/;

/** Sorts ids and patterns, and refuses those that a policy would read as something else. */
export function selectTokenIds(scope: IConstruct, tokenIds: readonly string[]): TokenIdSelection {
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

function isPattern(tokenId: string): boolean {
  return tokenId.endsWith('*');
}

function checkTokenId(scope: IConstruct, tokenId: string): void {
  if (Token.isUnresolved(tokenId)) {
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
      got: `'${tokenId}'`,
      expected: "a literal id, or a prefix with one '*' at its end",
      todo: `Grant another id or a prefix that ends before '${special}'.`,
    });
  }
  if (!POLICY_CHARACTERS.test(tokenId)) {
    throw new SharedTokenTableError(scope, {
      what: 'A policy can hold only the characters U+0020 to U+00FF.',
      got: `'${tokenId}'`,
      expected: 'an id of those characters',
      todo: 'Choose another id, or grant a prefix that ends before the first such character.',
    });
  }
}
