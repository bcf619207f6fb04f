import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { waitFor } from './wait-for.ts';

export interface Squid extends AsyncDisposable {
  /** With the user and the password that it wants. */
  readonly url: string;
  /** Without them. */
  readonly address: string;
  readonly password: string;
  /** One line for each request that it has served: `CONNECT 200 provider.test:443`. */
  served(): Promise<string[]>;
}

const PASSWORD = 'a+password/of:squid';
const HELPER = '/usr/lib/squid/basic_ncsa_auth';

/** A real squid with a user and a password. It resolves these names to this machine; nothing else here does. */
export async function startSquid(hosts: readonly string[]): Promise<Squid> {
  const [program, folder, port] = [await findProgram('squid'), await temporaryFolder(), await freePort()];
  const at = (name: string) => `${folder.path}/${name}`;
  const hash = execFileSync('openssl', ['passwd', '-apr1', PASSWORD], { encoding: 'utf8' }).trim();
  await writeFile(at('users'), `company:${hash}\n`);
  await writeFile(at('hosts'), hosts.map((host) => `127.0.0.1 ${host}\n`).join(''));
  await writeFile(at('access.log'), '');
  await writeFile(
    at('squid.conf'),
    `http_port 127.0.0.1:${port}
pid_filename none
coredump_dir ${folder.path}
cache_log ${at('cache.log')}
logformat short %rm %>Hs %ru
access_log stdio:${at('access.log')} logformat=short
buffered_logs off
cache deny all
hosts_file ${at('hosts')}
auth_param basic program ${HELPER} ${at('users')}
acl company proxy_auth REQUIRED
acl forbidden dstdomain forbidden.test
http_access deny forbidden
http_access allow company
http_access deny all
shutdown_lifetime 0 seconds
`,
  );
  // Squid gives up root's rights before it opens them.
  await chmod(folder.path, 0o777);
  for (const name of ['users', 'hosts', 'access.log', 'squid.conf']) await chmod(at(name), 0o666);
  const squid = spawn(program, ['-N', '-f', at('squid.conf')], { stdio: 'ignore' });
  await waitFor(
    () =>
      new Promise<boolean>((resolve, reject) => {
        if (squid.exitCode !== null) reject(new Error('squid has ended'));
        const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      }),
  );
  const address = `http://127.0.0.1:${port}`;
  return {
    address,
    url: `http://company:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    password: PASSWORD,
    served: async () => (await readFile(at('access.log'), 'utf8')).trim().split('\n').filter(Boolean),
    [Symbol.asyncDispose]: async () => {
      const ended = once(squid, 'exit');
      squid.kill('SIGKILL');
      if (squid.exitCode === null) await ended;
      await folder.close();
    },
  };
}
