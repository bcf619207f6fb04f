import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { z } from 'zod';

export const GATEWAY_SECRET = 'a gateway secret of more than 32 characters';
export const TOKEN = 'an-admin-token-for-the-tests';

const Ready = z.object({ type: z.literal('ready'), port: z.number() });

export interface RunningAdmin {
  readonly url: string;
  /** The process's output, line by line. */
  readonly output: readonly string[];
  stop(): Promise<void>;
}

/** The admin service as a process of its own; with a data folder of its own, where `env` names none. */
export async function runAdmin(redisUrl: string, env: Record<string, string> = {}): Promise<RunningAdmin> {
  const folder = await temporaryFolder();
  const child = fork(new URL('../main.ts', import.meta.url), {
    silent: true,
    env: {
      ...COMPILE_CACHE,
      ADMIN_PORT: '0',
      REDIS_URL: redisUrl,
      GATEWAY_SECRET,
      GATEWAY_ADMIN_TOKEN: TOKEN,
      GATEWAY_DATA_DIR: folder.path,
      ...env,
    },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => output.push(line));
  const exited = once(child, 'exit');
  const [message] = await Promise.race([once(child, 'message'), exited]);
  const started = Ready.safeParse(message);
  if (!started.success) throw new Error(`the admin service did not start: ${output.join('\n')}`);
  return {
    url: `http://127.0.0.1:${started.data.port}`,
    output,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      await folder.close();
    },
  };
}
