import { lookup } from 'node:dns/promises';
import { errorMessage } from '@gateway/contracts/error-message';
import { Redis } from 'ioredis';
import type { RedisSecrets } from '../place/redis-secrets.ts';
import { type RedisAddress, type RedisPlace, shownAddress } from '../place/redis-url.ts';
import { within } from '../within.ts';

/** How long a sentinel may take to answer, which has its answer in memory; and a name server before. */
const ANSWER_MS = 1000;

/** One sentinel's answer: an address, null where it knows no such master, or why there is none. */
type Answer = RedisAddress | null | Error;

/**
 * Asks all sentinels where the master is. The address that most of them name counts: one alone may be cut off from the
 * others, and name the master of an hour ago. Several addresses are returned where as many name each.
 *
 * @throws {Error} where no sentinel names one
 */
export async function findMasters(
  place: RedisPlace,
  secrets: RedisSecrets,
): Promise<readonly RedisAddress[]> {
  const { masterName } = place;
  if (masterName === null) return place.addresses;
  const sentinels = (await Promise.all(place.addresses.map(allOf))).flat();
  const answers = await firstMajority(sentinels.map((sentinel) => ask(sentinel, masterName, place, secrets)));
  const votes = votesIn(answers);
  if (votes.length > 0) {
    const most = Math.max(...votes.map(({ count }) => count));
    return votes.filter(({ count }) => count === most).map(({ address }) => address);
  }
  const errors = answers.filter((answer) => answer instanceof Error);
  const [reason = 'they have no address'] = errors.map(errorMessage);
  throw new Error(
    errors.length < answers.length
      ? `the sentinels know no master named "${masterName}": correct the name in REDIS_URL`
      : `no sentinel of ${place.addresses.map(shownAddress).join(', ')} answers: ${reason}`,
  );
}

interface Vote {
  readonly address: RedisAddress;
  readonly count: number;
}

function votesIn(answers: readonly Answer[]): readonly Vote[] {
  const named = answers.flatMap((answer) => (answer === null || answer instanceof Error ? [] : [answer]));
  const groups = Map.groupBy(named, shownAddress);
  return [...groups.values()].flatMap(([address, ...others]) =>
    address === undefined ? [] : [{ address, count: 1 + others.length }],
  );
}

/** All answers; sooner, once more than half of the sentinels name the same address. */
function firstMajority(asked: readonly Promise<Answer>[]): Promise<readonly Answer[]> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    for (const one of asked)
      void one.then((answer) => {
        answers.push(answer);
        const isClear = votesIn(answers).some(({ count }) => 2 * count > asked.length);
        if (isClear || answers.length === asked.length) resolve([...answers]);
      });
  });
}

/** A name may stand for several sentinels, as a headless service does. */
async function allOf({ host, port }: RedisAddress): Promise<readonly (RedisAddress & { name: string })[]> {
  const looking = lookup(host, { all: true }).catch(() => []);
  const found = await within(ANSWER_MS, looking, () => []);
  const hosts = found.length === 0 ? [host] : found.map(({ address }) => address);
  return hosts.map((address) => ({ host: address, port, name: host }));
}

async function ask(
  { host, port, name }: RedisAddress & { name: string },
  masterName: string,
  { sentinelLogin, family }: RedisPlace,
  secrets: RedisSecrets,
): Promise<Answer> {
  const tls = secrets.sentinelTls();
  const password = secrets.sentinelPassword();
  const sentinel = new Redis({
    host,
    port,
    family,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    ...(sentinelLogin.username !== undefined && { username: sentinelLogin.username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: { servername: name, ...tls } }),
  });
  let lastError: unknown;
  sentinel.on('error', (error) => {
    lastError = error;
  });
  try {
    await sentinel.connect();
    const answer: unknown = await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName);
    const [master, masterPort] = Array.isArray(answer) ? answer : [];
    return typeof master === 'string' ? { host: master, port: Number(masterPort) } : null;
  } catch (error) {
    return new Error(errorMessage(lastError ?? error));
  } finally {
    sentinel.disconnect();
  }
}
