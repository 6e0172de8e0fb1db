import { ExpectedResult, Match } from '@aws-cdk/integ-tests-alpha';
import { PROBES, type Role } from '../handlers/probes';

/** Rounds of the conductor: how many auth calls each of them is to make. All are served, by one token. */
export function roundsOf(...authCalls: number[]): ExpectedResult {
  return answer({ severalInstances: true, rounds: authCalls.map(count => ({ authCalls: count, tokens: 1, failed: 0 })) });
}

/** What each call of a role must come to. */
export function outcomesOf(role: Role): ExpectedResult {
  const probes = Object.entries(PROBES[role]);
  return answer(Object.fromEntries(probes.map(([name, { expected }]) => [name, expected === 'open' ? Match.stringLikeRegexp('.') : expected])));
}

/** A function's answer, which comes as text. */
function answer(fields: Record<string, unknown>): ExpectedResult {
  return ExpectedResult.objectLike({ StatusCode: 200, Payload: Match.serializedJson(Match.objectLike(fields)) });
}
