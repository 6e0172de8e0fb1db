import type { Instance } from './instance';
import type { Invariant } from './observer';
import { SENTINEL } from './provider';
import { brokenRuntime, type Patch, realRuntime } from './runtime';
import type { Rewrite } from './simulated-store';
import type { Subject } from './world';
import type { UpdateRequest } from '../lambda-runtime/dynamodb-requests';
import type { Host } from '../lambda-runtime/host';
import type { TokenStore } from '../lambda-runtime/token-store';

/** A deliberate defect, and the invariants of which one must catch it. */
export interface Variant {
  readonly name: string;
  readonly breaks: readonly Invariant[];
  /** From outside, where that is possible. */
  readonly rewrite?: Rewrite;
  readonly rewriteMend?: Subject['rewriteMend'];
  readonly wrapStore?: (store: TokenStore) => TokenStore;
  readonly wrapHost?: (host: Host, instance: Instance) => Host;
  /** Else in a private copy. */
  readonly patch?: Patch;
}

/** The code under test with this defect in it. */
export function subjectOf({ patch, rewrite, rewriteMend, wrapStore, wrapHost }: Variant): Subject {
  return {
    runtime: patch === undefined ? realRuntime : brokenRuntime(patch),
    ...(rewrite === undefined ? {} : { rewrite }),
    ...(rewriteMend === undefined ? {} : { rewriteMend }),
    ...(wrapStore === undefined ? {} : { wrapStore }),
    ...(wrapHost === undefined ? {} : { wrapHost }),
  };
}

/** One for each invariant at least, and the mistakes that are easily made. */
export const VARIANTS: readonly Variant[] = [
  {
    name: 'claim without looking at the lease',
    breaks: ['I1'],
    rewrite: claimIf(claim => ({ ...claim, lease: undefined })),
  },
  {
    name: 'generation starts anew',
    breaks: ['I2'],
    rewrite: (request, write) => write.kind !== 'commit' ? request : cleaned({
      ...request, UpdateExpression: request.UpdateExpression.replace('if_not_exists(#generation, :zero) + :one', ':zero + :one'),
    }),
  },
  {
    name: 'late answers are thrown away',
    breaks: ['I3'],
    wrapStore: store => ({
      ...store,
      commit: async (tokenId, commit, signal) => 'lease' in commit.onlyIf ? store.commit(tokenId, commit, signal)
        : { applied: false, item: await store.read(tokenId, signal) },
    }),
  },
  {
    name: 'no takeover',
    breaks: ['I4'],
    rewrite: claimIf(claim => ({ ...claim, lease: 'attribute_not_exists(#lease)' })),
  },
  {
    name: 'long sleeps take far too long',
    breaks: ['I5'],
    wrapHost: host => ({ ...host, sleep: async (ms, signal) => host.sleep(ms > 2_000 ? ms * 3 : ms, signal) }),
  },
  {
    name: 'failures are not recorded',
    breaks: ['I6'],
    wrapStore: store => ({ ...store, release: async (tokenId, { lease }, signal) => store.release(tokenId, { lease }, signal) }),
  },
  {
    name: 'all wait for a refresh ahead',
    breaks: ['I7'],
    patch: {
      file: 'decide.ts',
      find: /if \(isUsable\(token, rejection, now\)/,
      replace: 'if (isUsable(token, rejection, now) && !isLeaseAlive(situation)',
    },
  },
  {
    name: 'a token in a lease id, and so in every event',
    breaks: ['I8'],
    wrapHost: (host, instance) => ({ ...host, uuid: () => `${host.uuid()} ${instance.known?.token?.accessToken ?? SENTINEL}` }),
  },
  {
    name: 'commit without the lease check',
    breaks: ['I1', 'I2', 'credentials'],
    rewrite: (request, write) => write.kind === 'commit' && 'lease' in write.commit.onlyIf ? conditioned(request, 'attribute_exists(#tokenId)') : request,
  },
  {
    name: 'late commit on generation alone',
    breaks: ['I2'],
    rewrite: (request, write) => {
      if (write.kind !== 'commit' || 'lease' in write.commit.onlyIf) return request;
      const { base } = write.commit.onlyIf;
      return base === undefined ? request : conditioned(request, '#generation = :thatGeneration', { ':thatGeneration': base.generation });
    },
  },
  {
    name: 'late commit that removes another\'s lease',
    breaks: ['I1'],
    rewrite: (request, write) => {
      if (write.kind !== 'commit' || 'lease' in write.commit.onlyIf) return request;
      const UpdateExpression = request.UpdateExpression.includes(' REMOVE ') ? `${request.UpdateExpression}, #lease` : `${request.UpdateExpression} REMOVE #lease`;
      return { ...request, UpdateExpression, ExpressionAttributeNames: { ...request.ExpressionAttributeNames, '#lease': 'lease' } };
    },
  },
  {
    name: 'takeover by lease id without until',
    breaks: ['I1'],
    rewrite: claimIf(claim => ({ ...claim, lease: '(attribute_not_exists(#lease) OR #lease.#id = :thatLease)' })),
  },
  {
    name: 'no look at the clocks before sending',
    breaks: ['I1', 'credentials'],
    patch: { file: 'lease-holder.ts', find: /leaseLeft\(\) >= Math\.min\(limitMs, leaseMs\) \/ 2 && /, replace: '' },
  },
  {
    name: 'a fixed minimum of time for a claim',
    breaks: ['I4'],
    patch: {
      file: 'timing.ts',
      find: /return authLimit\(timeLeftMs, Infinity\) >= (?:Math\.)?min\([^;]*;/,
      replace: 'void [longestTimeLeftMs, refreshMs]; return authLimit(timeLeftMs, Infinity) >= 5_000;',
    },
  },
  {
    name: 'release records a failure on a healthy token',
    breaks: ['I6'],
    rewrite: (request, write) => write.kind === 'release' ? conditioned(request, '#lease.#id = :thatLease', { ':thatLease': write.release.lease }) : request,
  },
  {
    name: 'a forced refresh though a token was issued since',
    breaks: ['I6'],
    patch: { file: 'decide.ts', find: /since !== 'due' && isIssuedSince\(item\.token, since\)/, replace: 'since !== \'due\' && isIssuedSince(item.token, Infinity)' },
  },
  {
    name: 'a forced refresh that fails holds up those that are needed',
    breaks: ['I6'],
    patch: { file: 'lease-holder.ts', find: /failedAt, means\.forced\)/, replace: 'failedAt)' },
  },
  {
    name: 'a time to live beside a refresh token',
    breaks: ['credentials'],
    rewrite: (request, write, item) => {
      const keeps = item?.refreshToken !== undefined || ':refreshToken' in request.ExpressionAttributeValues;
      if (write.kind !== 'commit' || !keeps || ':expireAfter' in request.ExpressionAttributeValues) return request;
      return cleaned({
        ...request,
        UpdateExpression: request.UpdateExpression.replace(/, #expireAfter|#expireAfter, /, '').replace(/ REMOVE #expireAfter$/, '').replace(/^SET /, 'SET #expireAfter = :expireAfter, '),
        ExpressionAttributeValues: { ...request.ExpressionAttributeValues, ':expireAfter': Math.ceil(write.commit.token.issuedAt / 1_000) + 7 * 86_400 },
      });
    },
  },
  {
    name: 'readers never ask',
    breaks: ['I4'],
    patch: { file: 'decide.ts', find: /looks < 2 && !isHopeless \?/, replace: 'looks < Infinity ?' },
  },
  {
    name: 'a refresher does whatever it is asked',
    breaks: ['I6'],
    patch: { file: 'forced-refresh.ts', find: /now < aheadWindowFrom\(token\)/, replace: 'false' },
  },
  {
    name: 'an operator ends whatever lease is there',
    breaks: ['I1'],
    rewriteMend: (request, mend) => mend !== 'end lease' ? request : {
      ...request, ConditionExpression: 'attribute_exists(#lease)', ExpressionAttributeNames: { '#lease': 'lease' }, ExpressionAttributeValues: {},
    },
  },
  {
    name: 'an operator has whatever token expire that is there',
    breaks: ['I2'],
    rewriteMend: (request, mend) => mend !== 'expire' ? request : {
      ...request,
      ConditionExpression: 'attribute_exists(#expiresAt)',
      ExpressionAttributeNames: { '#expiresAt': 'expiresAt' },
      ExpressionAttributeValues: { ':expiresAt': request.ExpressionAttributeValues[':expiresAt'] },
    },
  },
];

// --- how requests are written otherwise -------------------------------------------------------------------------------------------------

/** The parts of a claim's condition, each of which may be left out. */
interface ClaimCondition { readonly token: string; readonly lease: string | undefined; readonly failure: string }

function claimIf(change: (condition: ClaimCondition) => ClaimCondition): Rewrite {
  return (request, write) => {
    if (write.kind !== 'claim') return request;
    const { base, ended, endured } = write.claim;
    const { token, lease, failure } = change({
      token: base ? '#generation = :thatGeneration AND #issuedAt = :thatIssue' : 'attribute_not_exists(#generation) AND attribute_not_exists(#issuedAt)',
      lease: '(attribute_not_exists(#lease) OR (#lease.#id = :thatLease AND #lease.#until = :thatUntil))',
      failure: '(attribute_not_exists(#failure) OR (#failure.#at = :thatFailure AND #failure.#count = :thatCount))',
    });
    return conditioned(request, [token, lease, failure].filter(Boolean).join(' AND '), {
      ':thatGeneration': base?.generation,
      ':thatIssue': base?.issuedAt,
      ':thatLease': ended?.id ?? 'none',
      ':thatUntil': ended?.until ?? 0,
      ':thatFailure': endured?.at ?? 0,
      ':thatCount': endured?.count ?? 0,
    });
  };
}

function conditioned(request: UpdateRequest, condition: string, values: Readonly<Record<string, unknown>> = {}): UpdateRequest {
  const names = Object.fromEntries((condition.match(/#\w+/g) ?? []).map(name => [name, name.slice(1)]));
  return cleaned({
    ...request,
    ConditionExpression: condition,
    ExpressionAttributeNames: { ...request.ExpressionAttributeNames, ...names },
    ExpressionAttributeValues: { ...request.ExpressionAttributeValues, ...values },
  });
}

/** Names and values that are not used any more would be refused. */
function cleaned(request: UpdateRequest): UpdateRequest {
  const used = new Set(`${request.UpdateExpression} ${request.ConditionExpression}`.match(/[#:]\w+/g));
  const only = <T>(all: Readonly<Record<string, T>>): Record<string, T> => {
    return Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  };
  const { ExpressionAttributeNames, ExpressionAttributeValues } = request;
  return { ...request, ExpressionAttributeNames: only(ExpressionAttributeNames), ExpressionAttributeValues: only(ExpressionAttributeValues) };
}
