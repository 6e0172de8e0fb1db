import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ExampleApp } from './support/example-app';
import { installTool } from '../../toolchain/tools';
import { run, temporaryFolder, type CommandResult } from '../support/command';

/*
 * AWS's own linter of templates, which knows the schema of every resource, over what the examples are synthesized to.
 *
 * W3005, which it does not look for, is the CDK's way: a function depends on its role and on the role's policies, though it refers to the role as well.
 */
const NOT_LOOKED_FOR = ['W3005'];

const folder = temporaryFolder('templates');
const app = new ExampleApp({
  outdir: join(folder, 'cdk.out'),
  endpoints: () => ({ tokenUrl: 'https://auth.example.com/oauth/token', apiUrl: 'https://api.example.com/v1/orders' }),
});

async function lint(template: string): Promise<CommandResult> {
  const bin = join(installTool('local-cloud'), 'venv', 'bin');
  const args = [join(bin, 'cfn-lint'), '--regions', 'eu-central-1', 'us-east-1', '--ignore-checks', ...NOT_LOOKED_FOR, '--template', template];
  return run(join(bin, 'python'), args, { cwd: dirname(template) });
}

const templateOf = (stackName: string) => join(app.outdir, `${stackName}.template.json`);

test.each([app.secrets, ...app.examples].map(({ stackName }) => stackName))('%s passes cfn-lint without an error or a warning', async stackName => {
  expect(await lint(templateOf(stackName))).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('cfn-lint would find a property that CloudFormation does not know', async () => {
  const other = join(folder, 'other.template.json');
  writeFileSync(other, readFileSync(templateOf('Orders'), 'utf8').replace('"BillingMode"', '"BilingMode"'));
  const { status, stdout } = await lint(other);
  expect(status).not.toBe(0);
  expect(stdout).toContain("'BilingMode' was unexpected");
});
