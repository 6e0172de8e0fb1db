import { makeCall } from './calls';
import { outcomeOf } from './outcome';
import { type Outcome, PROBES, type Role } from './probes';
import { PROBER_ENV } from '../stacks/contract';

/** What became of each call, by its name. */
export type Outcomes = Readonly<Record<string, Outcome>>;

/** Tries what its role may do, and what it must not, one after the other. */
export async function handler(): Promise<Outcomes> {
  const outcomes: Record<string, Outcome> = {};
  const role = process.env[PROBER_ENV.ROLE] as Role;
  for (const [name, probe] of Object.entries(PROBES[role])) outcomes[name] = await outcomeOf(async () => makeCall(probe));
  console.log(JSON.stringify({ role, outcomes }));
  return outcomes;
}
