import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

interface Received {
  readonly text: string;
  readonly to: readonly string[];
  readonly user: unknown;
  readonly isSecure: boolean;
}

/** A mail server; `refuse` is what it says to a mail in place of taking it. */
export async function startMail(options: SMTPServerOptions, refuse?: number) {
  const received: Received[] = [];
  const server = new SMTPServer({
    ...options,
    onAuth: ({ username, password }, _session, callback) =>
      password === 'p@ss' ? callback(null, { user: username }) : callback(new Error('wrong password')),
    onData: (stream, { envelope, user, secure }, callback) => {
      text(stream).then((sent) => {
        if (refuse !== undefined) return callback(Object.assign(new Error('no'), { responseCode: refuse }));
        const to = envelope.rcptTo.map(({ address }) => address);
        received.push({ text: sent, to, user, isSecure: secure });
        return callback();
      }, callback);
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return {
    port,
    received,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** Without TLS and without a password. */
export const PLAIN: SMTPServerOptions = { authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] };
