import { policiesCase } from './cases/policies';
import { runCase } from './stacks/integ-test';

runCase(policiesCase);
