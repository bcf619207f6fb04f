import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ChannelSecrets } from '../configuration/channel-secrets.ts';
import type { Channel } from '../configuration/configuration.ts';
import { DIRECT } from '../connecting/network.ts';
import { startProvider, startUpstream } from '../provider-for-tests.ts';
import { fetchAsset } from './fetch-asset.ts';
import { type FetchedBody, fetchUrl } from './fetch-url.ts';
import { isPublicAddress } from './public-address.ts';

const readWhole = async ({ chunks, contentType }: FetchedBody) => ({
  text: (await buffer(chunks)).toString(),
  contentType,
});

const channelAt = async (origin: string): Promise<Channel> => {
  const upstream = await startUpstream({ one: { origin } });
  const channel = upstream.configuration.channels.get('one');
  if (channel === undefined) throw new Error('no channel');
  return channel;
};

const image = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'image/png' });
  response.end('png');
};

test.for([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['127.0.0.1', false],
  ['127.9.9.9', false],
  ['0.0.0.0', false],
  ['10.0.0.1', false],
  ['172.16.0.1', false],
  ['192.168.1.1', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['192.0.2.1', false],
  ['198.18.0.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::', false],
  ['fe80::1', false],
  ['fc00::1', false],
  ['ff02::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['2001:db8::1', false],
  ['::127.0.0.1', false],
  ['not an address', false],
  ['', false],
] as const)('%s is a public address: %s', ([address, expected]) => {
  expect(isPublicAddress(address)).toBe(expected);
});

test("a result on the channel's own origin is fetched, without the channel's key", async () => {
  const provider = await startProvider(image);
  const channel = await channelAt(provider.origin);
  const url = `${provider.origin}/files/a.png?sig=1`;
  const asset = await fetchAsset({ url, channel, maxBytes: 100 }, readWhole);
  expect(asset.text).toBe('png');
  expect(asset.contentType).toBe('image/png');
  expect(provider.requests[0]?.url).toBe('/files/a.png?sig=1');
  expect(JSON.stringify(provider.requests[0]?.headers)).not.toContain('secret');
});

const account = { secrets: new ChannelSecrets([['authorization', 'Bearer sk-own']], ['sk-own']) };

test.for([401, 403])(
  "what its own origin refuses with %i, also named by a path, is fetched with the account's key",
  async (status) => {
    const provider = await startProvider((response, { headers }) =>
      headers.authorization === 'Bearer sk-own' ? image(response) : response.writeHead(status).end(),
    );
    const channel = await channelAt(provider.origin);
    for (const url of [`${provider.origin}/files/a.png`, '/files/a.png'])
      expect((await fetchAsset({ url, channel, account, maxBytes: 100 }, readWhole)).text).toBe('png');
    expect(provider.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual(
      [undefined, 'Bearer sk-own', undefined, 'Bearer sk-own'].map((key) => ['/files/a.png', key]),
    );
  },
);

test('the key of an account never reaches another origin, also where a redirect leads there', async () => {
  const other = await startProvider((response) => response.writeHead(401).end());
  const provider = await startProvider((response, { headers }) =>
    response
      .writeHead(headers.authorization === undefined ? 401 : 302, { location: `${other.origin}/secret` })
      .end(),
  );
  const network = { trustedOrigins: [provider.origin, other.origin], network: DIRECT, connectMs: 1000 };
  const credentials = { origin: provider.origin, headers: account.secrets.headers };
  const signal = AbortSignal.timeout(10_000);
  const url = `${provider.origin}/a`;
  await expect(fetchUrl({ url, ...network, credentials, maxBytes: 100, signal }, readWhole)).rejects.toThrow(
    '401',
  );
  expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer sk-own']);
  expect(other.requests.map(({ url: path, headers }) => [path, headers.authorization])).toEqual([
    ['/secret', undefined],
  ]);
});

/** Every way to name the machine itself, or a private one, without being the channel's origin. */
const REFUSED = [
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://[::1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f.1:PORT/',
  'http://0:PORT/',
  'http://10.255.255.1/',
  'http://169.254.169.254/latest/meta-data/',
  'https://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'ftp://127.0.0.1/',
  'data:image/png;base64,AAAA',
  'http://user:pass@example.com/',
  'nonsense',
  'http://[',
];

test.for(REFUSED)('%s of another origin is refused without a connection', async (pattern) => {
  const other = await startProvider(image);
  const channel = await channelAt('http://channel.invalid:1');
  const url = pattern.replace('PORT', new URL(other.origin).port);
  const fetched = fetchAsset({ url, channel, maxBytes: 100 }, readWhole);
  await expect(fetched).rejects.toMatchObject({ code: 'upstream_failed', source: 'upstream' });
  await expect(fetched).rejects.not.toMatchObject({ message: expect.stringContaining('127.0.0.1') });
  expect(other.connections).toBe(0);
});

test('a redirect from a trusted origin to another private one is refused', async () => {
  const other = await startProvider(image);
  const provider = await startProvider((response) =>
    response.writeHead(302, { location: `${other.origin}/secret` }).end(),
  );
  const channel = await channelAt(provider.origin);
  await expect(
    fetchAsset({ url: `${provider.origin}/a`, channel, maxBytes: 100 }, readWhole),
  ).rejects.toMatchObject({
    code: 'upstream_failed',
  });
  expect(other.connections).toBe(0);
});

test('redirects within the trusted origin are followed, but not for ever', async () => {
  const provider = await startProvider((response, { url }) => {
    if (url === '/2') image(response);
    else
      response.writeHead(302, { location: url === '/loop' ? '/loop' : `/${Number(url.slice(1)) + 1}` }).end();
  });
  const channel = await channelAt(provider.origin);
  const fetchOf = (path: string) =>
    fetchAsset({ url: `${provider.origin}${path}`, channel, maxBytes: 100 }, readWhole);
  expect((await fetchOf('/0')).text).toBe('png');
  await expect(fetchOf('/loop')).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(provider.requests.length).toBeLessThan(10);
});

test('the fetch of a result that is too large is aborted, with or without a declared length', async () => {
  for (const headers of [{ 'content-length': '200' }, {}]) {
    const provider = await startProvider((response) => {
      response.writeHead(200, headers);
      response.write('x'.repeat(150));
    });
    const channel = await channelAt(provider.origin);
    const fetched = fetchAsset({ url: provider.origin, channel, maxBytes: 100 }, readWhole);
    await expect(fetched).rejects.toMatchObject({ code: 'upstream_failed' });
    await provider.left;
  }
});

test('a server that answers with an error, or not at all, leads to an error', async () => {
  const provider = await startProvider((response) => response.writeHead(403).end());
  const channel = await channelAt(provider.origin);
  await expect(fetchAsset({ url: provider.origin, channel, maxBytes: 9 }, readWhole)).rejects.toMatchObject({
    code: 'upstream_failed',
  });
  const silent = await startProvider(() => undefined);
  const upstream = await startUpstream({
    one: { origin: silent.origin, settings: 'timeouts: { totalMs: 50 }' },
  });
  const impatient = upstream.configuration.channels.get('one');
  if (impatient === undefined) throw new Error('no channel');
  await expect(
    fetchAsset({ url: silent.origin, channel: impatient, maxBytes: 9 }, readWhole),
  ).rejects.toMatchObject({
    code: 'upstream_timeout',
  });
});

test('a caller who leaves ends the fetch', async () => {
  const caller = new AbortController();
  const provider = await startProvider(() => caller.abort());
  const channel = await channelAt(provider.origin);
  const options = { url: provider.origin, channel, maxBytes: 9, signal: caller.signal };
  await expect(fetchAsset(options, readWhole)).rejects.toMatchObject({ code: 'client_closed_request' });
  await provider.left;
  onTestFinished(() => caller.abort());
});
