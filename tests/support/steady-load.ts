import { waitFor } from '@gateway/testkit/wait-for';
import { Agent, fetch } from 'undici';

/** What each caller of the load asks, one request after the other. */
const CALLERS = {
  json: { path: '/v1/responses', json: { model: 'gpt-5.2', input: 'hello', store: false } },
  stream: {
    path: '/v1/responses',
    json: { model: 'gpt-5.2', input: 'hello [[simulate pace=30]]', store: false, stream: true },
  },
  job: { path: '/v1/images/generations', json: { model: 'dall-e-3', prompt: 'a house' } },
} as const;
export type Caller = keyof typeof CALLERS;

/** What a whole reply contains. */
const WHOLE: Readonly<Record<Caller, string>> = {
  json: '"status":"completed"',
  stream: 'event: response.completed',
  job: '"url"',
};

export interface SteadyLoad {
  /** Replies that were whole, by caller. */
  readonly served: Readonly<Record<Caller, number>>;
  /** Everything else, in words. */
  readonly failures: readonly string[];
  /** Resolves when each caller has got so many more replies. */
  goesOn(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Callers that ask without a pause, each over connections of its own that it keeps, and repeat nothing by themselves. */
export function startLoad(
  url: string,
  key: string,
  callers: readonly Caller[] = ['json', 'json', 'stream', 'stream', 'job'],
): SteadyLoad {
  const served = { json: 0, stream: 0, job: 0 };
  const failures: string[] = [];
  let over = false;
  const ask = async (caller: Caller, dispatcher: Agent) => {
    const { path, json } = CALLERS[caller];
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(json), dispatcher };
    try {
      const response = await fetch(url + path, init);
      const text = await response.text();
      if (response.status === 200 && text.includes(WHOLE[caller])) served[caller] += 1;
      else failures.push(`${caller}: ${response.status} ${text.slice(0, 500)}`);
    } catch (error) {
      failures.push(`${caller}: ${error instanceof Error ? `${error.message}: ${error.cause}` : error}`);
    }
  };
  const run = async (caller: Caller) => {
    const dispatcher = new Agent();
    while (!over) await ask(caller, dispatcher);
    await dispatcher.close();
  };
  const running = Promise.all(callers.map(run));
  return {
    served,
    failures,
    goesOn: async (count) => {
      const before = { ...served };
      const grown = (caller: Caller) => served[caller] - before[caller] >= count;
      await waitFor(() => failures.length > 0 || callers.every(grown), { what: 'further replies' });
    },
    stop: async () => {
      over = true;
      await running;
    },
  };
}
