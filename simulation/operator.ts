import type { Attributes } from './expression';
import type { Mend } from './observer';
import { Random } from './random';
import { itemText } from './simulated-store';
import { TOKEN_ID } from './token-id';
import type { World } from './world';
import type { OperatorRequest } from '../lambda-runtime/dynamodb-requests';
import type { Failure, Lease } from '../lambda-runtime/token-item';

const TABLE = 'tokens';

/** Somebody on call, who ends leases, clears failures and has tokens expire, without need: at any moment, and while somebody refreshes. */
export function letSomebodyOperate(world: World): void {
  const { scheduler, observer, options: { settings } } = world;
  if (settings.operations === 0) return;
  const random = new Random(settings.seed, 10);
  for (let count = 0; count < settings.operations; count++) scheduler.after(random.between(0, settings.durationMs), () => operate(world, random));
  let left = settings.operations;
  observer.hooks.onClaimed = () => {
    if (left > 0 && random.chance(0.5)) scheduler.after(random.around(--left > 0 ? 100 : 1_000), () => operate(world, random));
  };
}

/** A look; and a write of what was seen, at once or after some thought. */
function operate(world: World, random: Random): void {
  const { table, observer, scheduler, trace, options: { subject: { rewriteMend = request => request } } } = world;
  const seen = world.item();
  const [mend, request] = seen && world.isDisturbed ? random.pick(mendsOf(world, seen)) : [];
  if (seen === undefined || mend === undefined || request === undefined) return;
  scheduler.after(random.pick([5, 200, 5_000]), () => {
    if (!world.isDisturbed) return;
    const before = world.item();
    const { applied, item } = table.update(rewriteMend(request, mend));
    trace?.note('table', `an operator's ${mend} ${applied ? 'applied' : 'refused'}: ${itemText(item, trace)}`);
    if (applied) observer.mended(mend, { seen, before, after: item });
  });
}

type PossibleMend = readonly [Mend, OperatorRequest] | readonly [];

function mendsOf({ scheduler: { now }, options: { subject: { runtime } } }: World, seen: Attributes): [PossibleMend, ...PossibleMend[]] {
  const { lease, failure, generation, issuedAt } = seen as { lease?: Lease; failure?: Failure; generation?: number; issuedAt?: number };
  const mends: PossibleMend[] = [];
  if (lease) mends.push(['end lease', runtime.endLeaseRequest(TABLE, TOKEN_ID, lease)]);
  if (failure) mends.push(['clear failure', runtime.clearFailureRequest(TABLE, TOKEN_ID, failure)]);
  if (generation !== undefined && issuedAt !== undefined) mends.push(['expire', runtime.expireRequest(TABLE, TOKEN_ID, { generation, issuedAt }, now)]);
  const [first = [], ...others] = mends;
  return [first, ...others];
}
