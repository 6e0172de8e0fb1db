import { reactiveCase } from './cases/reactive';
import { runCase } from './stacks/integ-test';

runCase(reactiveCase);
