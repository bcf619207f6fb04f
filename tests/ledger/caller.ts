import type { Simulator } from '@gateway/simulator/start-simulator';
import { expect } from 'vitest';
import type { Gateway, GatewayRequest } from '../support/start-gateway.ts';

/** A client with a key of its own, at one of the edges. */
export interface Caller extends Pick<Gateway, 'openai' | 'anthropic' | 'fetch'> {
  readonly simulator: Simulator;
}

/** Asks, and reads the whole reply. */
export async function whole(
  caller: Caller,
  path: string,
  request: GatewayRequest,
  status = 200,
): Promise<string> {
  const response = await caller.fetch(path, request);
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.anything()]);
  return text;
}

/** Asks for a stream that breaks off upstream; whether it then ends or breaks is the protocol's affair. */
export async function broken(caller: Caller, path: string, json: object): Promise<void> {
  const response = await caller.fetch(path, { json });
  expect(response.status).toBe(200);
  await response.text().catch(() => undefined);
}

/** Leaves when the reply has begun. */
export async function leaveStream(caller: Caller, path: string, json: object): Promise<void> {
  const response = await caller.fetch(path, { json });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  await reader?.cancel();
}

/** Leaves when the provider has the request, which holds the mark. */
export async function leaveWaiting(caller: Caller, path: string, json: object, mark: string): Promise<void> {
  const leaving = new AbortController();
  const pending = caller.fetch(path, { json, signal: leaving.signal });
  const received = await caller.simulator.nextRequest(({ body }) => body.includes(mark));
  leaving.abort();
  await expect(pending).rejects.toThrow('abort');
  expect(await received.closed).toBe('aborted');
}
