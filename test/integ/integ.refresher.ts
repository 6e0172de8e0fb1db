import { refresherCase } from './cases/refresher';
import { runCase } from './stacks/integ-test';

runCase(refresherCase);
