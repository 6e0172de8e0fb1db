import type { Row } from './budget-table';

/** What the runtime has to reach, in one kind of rows. */
interface Target {
  readonly where: (row: Row) => boolean;
  readonly column: 'authCalls' | 'invocations' | 'requestsPerInstance' | 'overP99Ms' | 'overMaxMs' | 'failed';
  readonly most: number;
}

const always = () => true;
const manyWait = ({ instances, tokenKb }: Row) => instances === 1_000 && tokenKb === 0.5;
const isConstant = ({ providerCv }: Row) => providerCv === 0;
const isFast = ({ providerMs }: Row) => providerMs === 300;

const TARGETS: readonly Target[] = [
  { where: always, column: 'authCalls', most: 1 },
  { where: always, column: 'failed', most: 0 },
  { where: row => manyWait(row) && isConstant(row), column: 'requestsPerInstance', most: 2.2 },
  { where: row => manyWait(row) && isConstant(row) && isFast(row), column: 'overP99Ms', most: 75 },
  { where: row => manyWait(row) && isConstant(row) && !isFast(row), column: 'overP99Ms', most: 350 },
  { where: row => manyWait(row) && !isConstant(row), column: 'requestsPerInstance', most: 3.1 },
  { where: row => manyWait(row) && !isConstant(row) && isFast(row), column: 'overP99Ms', most: 200 },
  // At 3,000 strongly consistent reads a second the last of 10,000 cannot have the token sooner than 3.3 s after it is there.
  { where: ({ instances }) => instances === 10_000, column: 'overMaxMs', most: 5_000 },
];

/** Of readers that ask a refresher. */
const TARGETS_OF_ASKING: readonly Target[] = [
  { where: always, column: 'authCalls', most: 1 },
  { where: always, column: 'failed', most: 0 },
  { where: ({ contender, instances }) => contender === 'warm refresher' && instances <= 200, column: 'invocations', most: 10 },
];

const TARGETS_OF: Readonly<Record<string, readonly Target[]>> = {
  'runtime': TARGETS,
  'warm refresher': TARGETS_OF_ASKING,
  'cold refresher': TARGETS_OF_ASKING,
};

/** What the runtime's rows do not reach, in words. */
export function missed(rows: readonly Row[]): string[] {
  return rows.flatMap(row => {
    const { contender, instances, providerMs, providerCv, tokenKb } = row;
    const missedTargets = (TARGETS_OF[contender] ?? []).filter(({ where, column, most }) => where(row) && row[column] > most);
    return missedTargets.map(({ column, most }) =>
      `${column} is ${row[column]}, and should be ${most} at most (${instances} instances, provider ${providerMs} ms, cv ${providerCv}, token ${tokenKb} KB)`);
  });
}
