import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { waitFor } from './wait-for.ts';

export interface Nginx extends AsyncDisposable {
  readonly url: string;
}

interface NginxOptions {
  /** The origin that it forwards to. */
  readonly to: string;
  /** Silence of that origin after which it answers 504, or breaks a reply off. */
  readonly readTimeoutMs: number;
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'] as const;

/** A real nginx before this origin, as its own documentation sets one up. */
export async function startNginx({ to, readTimeoutMs }: NginxOptions): Promise<Nginx> {
  const [program, folder, port] = [await findProgram('nginx'), await temporaryFolder(), await freePort()];
  const at = (name: string) => `${folder.path}/${name}`;
  await writeFile(
    at('nginx.conf'),
    `daemon off;
master_process off;
pid ${at('pid')};
error_log ${at('error.log')};
events {}
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${at(name)};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${to};
      proxy_read_timeout ${readTimeoutMs}ms;
    }
  }
}
`,
  );
  const arguments_ = ['-p', folder.path, '-e', at('error.log'), '-c', at('nginx.conf')];
  const nginx = spawn(program, arguments_, { stdio: 'ignore' });
  await waitFor(
    () =>
      new Promise<boolean>((resolve, reject) => {
        if (nginx.exitCode !== null) reject(new Error('nginx has ended'));
        const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      }),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const ended = once(nginx, 'exit');
      nginx.kill('SIGKILL');
      if (nginx.exitCode === null) await ended;
      await folder.close();
    },
  };
}
