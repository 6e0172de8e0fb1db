import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LocalCloud } from './local-cloud';

/** A call to AWS: service, operation in Python's spelling, parameters. */
export type AwsCall = readonly [service: string, operation: string, parameters: object];

/** Asks the services for which this repository has no client of the SDK, by AWS's own client for Python; each answer as the API documents it. */
export async function askAws<Answers extends readonly unknown[]>(
  cloud: LocalCloud, ...calls: { readonly [Call in keyof Answers]: AwsCall }
): Promise<Answers> {
  const client = spawn(cloud.python, [join(__dirname, 'aws.py')], { env: cloud.environment, stdio: ['pipe', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  client.stdout.setEncoding('utf8').on('data', (text: string) => { output.stdout += text; });
  client.stderr.setEncoding('utf8').on('data', (text: string) => { output.stderr += text; });
  client.stdin.end(JSON.stringify(calls));
  const [status] = await once(client, 'close') as [number | null];
  if (status !== 0) throw new Error(`AWS was asked ${JSON.stringify(calls)}, and failed:\n${output.stderr}`);
  return JSON.parse(output.stdout) as Answers;
}
