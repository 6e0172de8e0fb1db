import { accessSync, constants, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf, REPOSITORY, run, temporaryFolder } from '../support/command';

/*
 * What is published of it: beside the runtime, and apart from it.
 */
const elsewhere = temporaryFolder('no-sdk');
const CODE = 'const codeOf = make => { try { make(); } catch (error) { return [error.code, error instanceof SharedTokenError]; } };';

test.each([
  ['CommonJS', ['-e', `const { SharedTokenError } = require('cdk-shared-token-table/runtime'); const { SharedTokenOperator } = require('cdk-shared-token-table/runtime/operator');
    ${CODE} console.log(JSON.stringify(codeOf(() => new SharedTokenOperator(''))));`]],
  ['ES modules', ['--input-type=module', '-e', `import { SharedTokenError } from 'cdk-shared-token-table/runtime'; import { SharedTokenOperator } from 'cdk-shared-token-table/runtime/operator';
    ${CODE} console.log(JSON.stringify(codeOf(() => new SharedTokenOperator(''))));`]],
])('an error of an operator is an error of the runtime, in %s', async (_, args) => {
  expect(JSON.parse(await outputOf(process.execPath, args, { cwd: REPOSITORY }))).toEqual(['INVALID_TOKEN_ID', true]);
});

test('the runtime and the layer carry nothing of it: functions need no operator', () => {
  for (const file of ['runtime/index.js', 'runtime/module.mjs', 'runtime/refresher/index.js', 'assets/refresher/index.js']) {
    expect(readFileSync(join(REPOSITORY, file), 'utf8')).not.toMatch(/seenUntil|ITEM_CHANGED/);
  }
  expect(readFileSync(join(REPOSITORY, 'runtime/operator/index.js'), 'utf8')).toMatch(/seenUntil/);
  expect(existsSync(join(REPOSITORY, 'assets/layer/nodejs/node_modules/cdk-shared-token-table/runtime/operator'))).toBe(false);
});

test('it holds no token\'s business: neither a memory of tokens, nor what encrypts them, nor a way to commit one', () => {
  const business = [/client-kms/, /if_not_exists/, /aes-256-gcm/];
  const found = (file: string) => business.filter(part => part.test(readFileSync(join(REPOSITORY, file), 'utf8')));
  expect([found('runtime/operator/index.js'), found('runtime/index.js')]).toEqual([[], business]);
});

describe('the command', () => {
  const command = join(REPOSITORY, 'runtime', 'operator', 'shared-token.js');

  test('is what package.json has npm link, and may be executed', () => {
    const { bin } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { bin: Record<string, string> };
    expect(join(REPOSITORY, bin['shared-token'] ?? '')).toBe(command);
    expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(() => accessSync(command, constants.X_OK)).not.toThrow();
  });

  test('says what to install where there is no SDK', async () => {
    const home = join(elsewhere, 'runtime');
    mkdirSync(home);
    for (const file of ['index.js', 'operator/index.js', 'operator/shared-token.js']) cpSync(join(REPOSITORY, 'runtime', file), join(home, file));
    const result = await run(process.execPath, [join(home, 'operator', 'shared-token.js'), 'state', 'crm', '--table', 'Tokens'], { cwd: home });
    expect(result).toEqual({ status: 1, stdout: '', stderr: expect.stringContaining('npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb @aws-sdk/util-dynamodb') });
  });
});
