import { createServer, type Socket } from 'node:net';
import { freePort } from '@gateway/testkit/free-port';

/** A sentinel that says what a test wants. */
export interface FakeSentinel extends AsyncDisposable {
  readonly port: number;
  /** The port of the master that it names; null: it knows none; `silent`: it never answers. */
  says: number | null | 'silent';
}

/** Understands `SENTINEL GET-MASTER-ADDR-BY-NAME`, and no other command. */
export async function startFakeSentinel(says: FakeSentinel['says']): Promise<FakeSentinel> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      // A connection of ioredis begins with HELLO, whose refusal leads to the older protocol.
      if (/hello/i.test(data.toString())) socket.write("-ERR unknown command 'HELLO'\r\n");
      else if (sentinel.says === null) socket.write('*-1\r\n');
      else if (sentinel.says !== 'silent')
        socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${String(sentinel.says).length}\r\n${sentinel.says}\r\n`);
    });
  });
  const sentinel: FakeSentinel = {
    port,
    says,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return sentinel;
}
