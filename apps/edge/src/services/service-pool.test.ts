import { beforeEach, expect, test } from 'vitest';
import { createServicePool, type ServiceAddress } from './service-pool.ts';

let names: Record<string, string[]>;
let nowMs: number;
let failures: string[];

beforeEach(() => {
  names = { text: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] };
  nowMs = 0;
  failures = [];
});

async function pool(...urls: string[]) {
  const created = createServicePool({
    urls,
    uptime: () => nowMs,
    lookup: async (host) => names[host] ?? Promise.reject(new Error('ENOTFOUND')),
    onLookupFailure: (host) => failures.push(host),
  });
  await created.refresh();
  return created;
}

/** Picks this many times, and ends no request. */
function pickMany(from: Awaited<ReturnType<typeof pool>>, count: number): string[] {
  return Array.from({ length: count }, () => {
    const address = from.pick([]);
    if (address !== undefined) address.inFlight += 1;
    return address?.host ?? 'none';
  });
}

const shares = (hosts: string[]) =>
  Object.values(Object.groupBy(hosts, (host) => host)).map((all) => all?.length);

test('requests are spread evenly over all addresses of a name', async () => {
  expect(shares(pickMany(await pool('http://text:8081'), 30))).toEqual([10, 10, 10]);
});

test('requests that end at once are spread evenly, too', async () => {
  const text = await pool('http://text:8081');
  expect(shares(Array.from({ length: 30 }, () => text.pick([])?.host ?? 'none'))).toEqual([10, 10, 10]);
});

test('the address with the fewest requests gets the next one', async () => {
  const text = await pool('http://10.0.0.1:1', 'http://10.0.0.2:2');
  const [busy, free] = [text.pick([]), text.pick([])];
  if (busy !== undefined) busy.inFlight = 5;
  expect([text.pick([]), text.pick([]), text.pick([])]).toEqual([free, free, free]);
});

test('another load than that of requests decides where it is given', async () => {
  const text = await pool('http://10.0.0.1:1', 'http://10.0.0.2:2');
  const [busy, free] = [text.pick([]), text.pick([])];
  if (busy !== undefined) busy.inFlight = 5;
  const loadOf = (address: ServiceAddress) => (address === free ? 1 : 0);
  expect([text.pick([], loadOf), text.pick([], loadOf)]).toEqual([busy, busy]);
});

test('a refused address is avoided for a while if there is another', async () => {
  const text = await pool('http://text:8081');
  const refused = text.pick([]);
  if (refused !== undefined) text.refused(refused);
  expect(new Set(pickMany(text, 10))).not.toContain(refused?.host);
  nowMs += 2000;
  expect(new Set(pickMany(text, 10))).toContain(refused?.host);
});

test('with every address refused they are all tried, each once', async () => {
  const text = await pool('http://text:8081');
  const tried: ServiceAddress[] = [];
  for (let address = text.pick(tried); address !== undefined; address = text.pick(tried)) {
    text.refused(address);
    tried.push(address);
  }
  expect(tried.map(({ host }) => host).toSorted()).toEqual(names.text);
});

test('addresses that come and go with a name are followed, and requests in flight stay counted', async () => {
  const text = await pool('http://text:8081');
  const first = text.pick([]);
  if (first !== undefined) first.inFlight = 7;
  names.text = [first?.host ?? '', '10.0.0.9'];
  await text.refresh();
  expect(new Set(pickMany(text, 6))).toEqual(new Set(['10.0.0.9']));
});

test('a name that does not resolve keeps its last addresses, and one that never did has none', async () => {
  const text = await pool('http://text:8081');
  names = {};
  await text.refresh();
  expect(failures).toEqual(['text']);
  expect(text.pick([])?.port).toBe(8081);
  expect((await pool('http://nowhere:1')).pick([])).toBeUndefined();
});

test('an IPv6 address and the default port are understood', async () => {
  expect((await pool('http://[::1]')).pick([])).toMatchObject({ host: '::1', port: 80 });
});
