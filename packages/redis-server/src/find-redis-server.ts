import { runProgram } from './run-program.ts';

/** A server program on the PATH that is new enough. */
export interface RedisProgram {
  readonly command: string;
  /** The version that it prints: `7.0.15`. */
  readonly version: string;
}

export interface RedisSearch {
  readonly found: RedisProgram | undefined;
  /** Programs that are there but too old, for the error message. */
  readonly tooOld: readonly RedisProgram[];
}

const COMMANDS = ['redis-server', 'valkey-server'];

/** BullMQ and the Lua scripts need 6.2 or newer. Valkey's own numbers begin at 7.2. */
export const isNewEnough = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 2);
};

/** Looks on the PATH for Redis, then for Valkey. `commands` is for tests. */
export async function findRedisServer(commands: readonly string[] = COMMANDS): Promise<RedisSearch> {
  const tooOld: RedisProgram[] = [];
  for (const command of commands) {
    const { code, output } = await runProgram(command, ['--version'], 10_000);
    // "Redis server v=7.0.15 sha=…", "Valkey server v=8.0.1 sha=…"
    const version = /\bv=(\d+\.\d+[\w.-]*)/.exec(output)?.[1];
    if (code !== 0 || version === undefined) continue;
    if (isNewEnough(version)) return { found: { command, version }, tooOld };
    tooOld.push({ command, version });
  }
  return { found: undefined, tooOld };
}
