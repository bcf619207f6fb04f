import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { makeAuthority } from '@gateway/testkit/make-authority';
import { startSquid } from '@gateway/testkit/start-squid';
import { Certificates } from '@gateway/upstream/connecting/certificates';
import { environmentNetwork } from '@gateway/upstream/connecting/network';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createWebhookSender } from './webhook-sender.ts';

const NAME = 'receiver.test';
const SECRET = `whsec_${Buffer.from('a secret of this test alone').toString('base64')}`;

test('webhooks are sent by the proxy, still not to addresses that are not public', async () => {
  await using squid = await startSquid([NAME]);
  await using authority = await makeAuthority([NAME]);
  const received: unknown[] = [];
  const server = createServer(authority, async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
    received.push(new Webhook(SECRET).verify(await text(request), Object.fromEntries(headers)));
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const certificates = new Certificates(authority.file);
  await certificates.load((path) => readFile(path, 'utf8'));
  const sender = createWebhookSender({
    readWebhook: () => Promise.resolve({ url: null, secrets: () => [SECRET] }),
    masterSecret: 'm'.repeat(32),
    isPrivateAllowed: undefined,
    network: { ...environmentNetwork({ HTTPS_PROXY: squid.url }), certificates },
    now: Date.now,
  });
  const sendTo = (host: string) =>
    sender.send({ id: 'msg_1', keyId: 'key_1', url: `https://${host}:${port}/hook`, body: '{"type":"a"}' });
  const tunnels = async () => (await squid.served()).filter((line) => line.startsWith('CONNECT'));
  try {
    expect(await sendTo(NAME)).toMatchObject({ status: 200 });
    expect(received).toEqual([{ type: 'a' }]);
    expect(await tunnels()).toEqual([`CONNECT 200 ${NAME}:${port}`]);
    for (const host of ['10.0.0.1', '[::ffff:10.0.0.1]', 'intranet', 'hooks.internal'])
      expect(await sendTo(host)).toMatchObject({ status: null, isFinal: true });
    expect(await tunnels()).toHaveLength(1);
  } finally {
    await sender.close();
    server.closeAllConnections();
    server.close();
  }
});
