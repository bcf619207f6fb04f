import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { findProgram } from './find-program.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { waitFor } from './wait-for.ts';

interface NginxOptions {
  readonly port: number;
  /** What stands in its one `server`: `location / { proxy_pass http://127.0.0.1:1; }`. */
  readonly server: string;
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** A real nginx, which ends when it is disposed of. */
export async function startNginx({ port, server }: NginxOptions): Promise<AsyncDisposable> {
  const [program, folder] = [await findProgram('nginx'), await temporaryFolder()];
  const file = `${folder.path}/nginx.conf`;
  const temporary = TEMPORARY.map((name) => `${name}_temp_path ${folder.path}/${name};`);
  await writeFile(
    file,
    `daemon off;
master_process off;
pid ${folder.path}/nginx.pid;
error_log ${folder.path}/error.log;
events {}
http {
  access_log off;
  ${temporary.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    ${server}
  }
}
`,
  );
  const nginx = spawn(program, ['-c', file, '-e', `${folder.path}/error.log`], { stdio: 'ignore' });
  await waitFor(
    () =>
      new Promise<boolean>((resolve, reject) => {
        if (nginx.exitCode !== null) reject(new Error('nginx has ended'));
        const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      }),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = once(nginx, 'exit');
      nginx.kill('SIGKILL');
      if (nginx.exitCode === null) await ended;
      await folder.close();
    },
  };
}
