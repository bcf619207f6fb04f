import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Contender } from './contender.ts';
import type { LoadGenerator, LoadOptions, LoadResult, Workload } from './load.ts';
import { percentile } from './percentile.ts';
import { residentBytes } from './processor-time.ts';

const MS_PER_SECOND = 1000;
const COMPLETED = '"type":"response.completed"';

async function open(url: string, headers: Readonly<Record<string, string>>): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}

/** Sends the same event over and over, on each connection one at a time: as the other generators send requests. */
export const socketLoad: LoadGenerator = {
  name: 'ws',
  run: async (
    { url, headers, body }: Workload,
    { connections, seconds }: LoadOptions,
  ): Promise<LoadResult> => {
    const sockets = await Promise.all(Array.from({ length: connections }, () => open(url, headers)));
    const times: number[] = [];
    let errors = 0;
    const endsAt = performance.now() + seconds * MS_PER_SECOND;
    const drive = async (socket: WebSocket): Promise<void> => {
      while (performance.now() < endsAt) {
        const startedAt = performance.now();
        socket.send(body);
        if (await isCompleted(socket)) times.push(performance.now() - startedAt);
        else errors += 1;
      }
      socket.close();
    };
    await Promise.all(sockets.map(drive));
    return {
      requests: times.length,
      requestsPerSecond: times.length / seconds,
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      errors,
    };
  },
};

/** Waits for the end of a response, and whether it is a good one. */
function isCompleted(socket: WebSocket): Promise<boolean> {
  return new Promise((resolve) => {
    const onMessage = (data: Buffer) => {
      const isGood = data.includes(COMPLETED);
      if (!isGood && !data.includes('"type":"error"')) return;
      socket.off('message', onMessage);
      resolve(isGood);
    };
    socket.on('message', onMessage);
  });
}

/** Of a realtime session: sends the events of one turn, and reads up to the end of the response. Each message in either direction counts as one. */
export const realtimeLoad: LoadGenerator = {
  name: 'realtime',
  run: async (
    { url, headers, body }: Workload,
    { connections, seconds }: LoadOptions,
  ): Promise<LoadResult> => {
    const sockets = await Promise.all(Array.from({ length: connections }, () => open(url, headers)));
    const turn = body.split('\n');
    const times: number[] = [];
    let messages = 0;
    let errors = 0;
    const endsAt = performance.now() + seconds * MS_PER_SECOND;
    const drive = async (socket: WebSocket): Promise<void> => {
      while (performance.now() < endsAt) {
        const startedAt = performance.now();
        for (const event of turn) socket.send(event);
        const received = await receivedOf(socket);
        if (received === null) {
          errors += 1;
          break;
        }
        messages += turn.length + received;
        times.push(performance.now() - startedAt);
      }
      socket.close();
    };
    await Promise.all(sockets.map(drive));
    return {
      requests: messages,
      requestsPerSecond: messages / seconds,
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      errors,
    };
  },
};

/** The messages up to the end of a response; null: there was an error instead. */
function receivedOf(socket: WebSocket): Promise<number | null> {
  return new Promise((resolve) => {
    let received = 0;
    const end = (result: number | null) => {
      socket.off('message', onMessage);
      socket.off('close', onClose);
      resolve(result);
    };
    const onClose = () => end(null);
    const onMessage = (data: Buffer) => {
      received += 1;
      if (data.includes('"type":"response.done"')) end(received);
      else if (data.includes('"type":"error"')) end(null);
    };
    socket.on('message', onMessage);
    socket.once('close', onClose);
  });
}

const OPENED_AT_ONCE = 50;

/** A process returns memory once for each time that it has grown. */
const MAX_TRIES = 3;

/**
 * How much the memory of all processes grows by this many open connections, in bytes. Measured again where a process has returned
 * more meanwhile.
 */
export async function openSocketsBytes(contender: Contender, count: number): Promise<number> {
  let grownBytes = await growthBy(contender, count);
  for (let tried = 1; grownBytes <= 0 && tried < MAX_TRIES; tried += 1)
    grownBytes = await growthBy(contender, count);
  return grownBytes;
}

async function growthBy({ baseUrl, headers, processes }: Contender, count: number): Promise<number> {
  const resident = async () => {
    const all = await Promise.all(processes.map(({ pid }) => residentBytes(pid)));
    return all.reduce((total, bytes) => total + bytes, 0);
  };
  const before = await resident();
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const opening = Array.from({ length: OPENED_AT_ONCE }, () => open(`${baseUrl}/v1/responses`, headers));
    sockets.push(...(await Promise.all(opening)));
  }
  const after = await resident();
  for (const socket of sockets) socket.terminate();
  return after - before;
}
