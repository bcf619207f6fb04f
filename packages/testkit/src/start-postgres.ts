import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, glob } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endWithStarter } from '@gateway/redis-server/end-with-starter';
import { installProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { waitFor } from './wait-for.ts';

const run = promisify(execFile);

/** Debian's packages keep each major version's programs apart. */
const FOLDERS = ['/usr/lib/postgresql/*/bin/initdb', '/opt/homebrew/opt/postgresql*/bin/initdb'];

export interface TestPostgres extends AsyncDisposable {
  /** Of a database that its user may do anything in. Its password is needed. */
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a lost machine does. */
  kill(): Promise<void>;
  /** Starts it again, with its data, after `kill`. */
  restart(): Promise<void>;
  /** Stops every process of it as it stands (SIGSTOP), or lets it go on. */
  freeze(frozen: boolean): Promise<void>;
}

const USER = 'gateway';
const PASSWORD = 'pass+word/of:postgres';

/** PostgreSQL refuses to run as root: then another user of the machine runs it. */
async function ownerOfServer(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, name]))).catch(() => null);
    const [uid, gid] = ids?.map(({ stdout }) => Number(stdout)) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error('Root cannot run PostgreSQL, and there is no user postgres or nobody.');
}

async function findFolder(): Promise<string> {
  const look = async () => {
    for (const pattern of FOLDERS)
      for await (const found of glob(pattern)) return found.slice(0, found.lastIndexOf('/'));
    return undefined;
  };
  return (await look()) ?? (await installProgram('postgresql', look));
}

/**
 * A real PostgreSQL of the test's own, empty, ended with the test process, also where that is killed. It takes some two
 * seconds: start one per file. As root, it is installed with apt-get where it is missing.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const programs = await findFolder();
  const [owner, folder, port] = [await ownerOfServer(), await temporaryFolder(), await freePort()];
  const data = join(folder.path, 'data');
  if (owner !== undefined) {
    await chmod(folder.path, 0o700);
    await chown(folder.path, owner.uid, owner.gid);
  }
  const as = { ...owner, cwd: folder.path };
  const pwfile = join(folder.path, 'password');
  await run('sh', ['-c', 'umask 077; printf %s "$0" > "$1"', PASSWORD, pwfile], as);
  const locale = ['--locale', 'C.UTF-8', '--encoding', 'UTF8'];
  const init = ['-D', data, '-U', USER, '-A', 'scram-sha-256', '--pwfile', pwfile, '--no-sync', ...locale];
  await run(join(programs, 'initdb'), init, as);

  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'max_connections=30',
    'shared_buffers=16MB',
    'listen_addresses=127.0.0.1',
  ];
  const start = async () => {
    const where = ['-D', data, '-p', String(port), '-k', folder.path];
    const args = [...where, ...settings.flatMap((one) => ['-c', one])];
    const started = spawn(join(programs, 'postgres'), args, { ...as, stdio: 'ignore', detached: true });
    // It ends its own processes, with SIGKILL after five seconds.
    if (started.pid !== undefined) started.once('exit', endWithStarter(started.pid, 'QUIT'));
    await waitFor(
      () =>
        new Promise<boolean>((resolve, reject) => {
          if (started.exitCode !== null) reject(new Error('PostgreSQL has ended'));
          const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
          socket.on('connect', () => socket.destroy());
        }),
    );
    return started;
  };
  let server = await start();
  /** To the server and to those of its processes that serve a connection or work in the background. */
  const signal = async (name: NodeJS.Signals) => {
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const { stdout } = await run('pgrep', ['-P', String(server.pid)]);
    for (const pid of [server.pid, ...stdout.trim().split('\n').map(Number)]) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended by itself.
      }
    }
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    await signal('SIGKILL');
    await ended;
  };
  return {
    url: `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    port,
    kill,
    restart: async () => {
      await run('rm', ['-f', join(data, 'postmaster.pid')]);
      server = await start();
    },
    freeze: (frozen) => signal(frozen ? 'SIGSTOP' : 'SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      await kill();
      await folder.close();
    },
  };
}
