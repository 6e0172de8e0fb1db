import { join } from 'node:path';
import type { LocalCloud } from './local-cloud';
import { installTool, nodeOf } from '../../../toolchain/tools';
import { outputOf } from '../../support/command';

const CDK = join('node_modules', 'aws-cdk', 'bin', 'cdk');

/** More than that at once make each of them slower, on two cores. */
const STACKS_AT_ONCE = 4;

/** The CDK toolkit (`cdk`), against a local cloud. */
export class CdkToolkit {
  constructor(private readonly cloud: LocalCloud) {}

  /** Prepares the account, as every account that CDK deploys to is prepared. */
  async bootstrap(): Promise<void> {
    await this.run('bootstrap', `aws://${this.cloud.account}/${this.cloud.region}`);
  }

  /** @param assembly the folder that was synthesized into */
  async deploy(assembly: string, ...stacks: readonly string[]): Promise<void> {
    await this.run('deploy', '--app', assembly, '--exclusively', '--require-approval', 'never', '--concurrency', String(STACKS_AT_ONCE), ...stacks);
  }

  async destroy(assembly: string, ...stacks: readonly string[]): Promise<void> {
    await this.run('destroy', '--app', assembly, '--exclusively', '--force', ...stacks);
  }

  private async run(...args: readonly string[]): Promise<void> {
    const { environment, folder } = this.cloud;
    // By default it remembers accounts in the user's own folder.
    const env = { ...environment, CDK_HOME: join(folder, 'home'), CI: 'true' };
    try {
      await outputOf(nodeOf(22), [join(installTool('cdk-toolkit'), CDK), ...args, '--no-notices', '--progress', 'events'], { cwd: folder, env });
    } catch (error) {
      throw new Error(`${(error as Error).message}\nThe local cloud said:\n${this.cloud.lastLines}`);
    }
  }
}
