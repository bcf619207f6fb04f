import type { Account, Identity } from '@gateway/contracts/identity';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { chargesOf } from '@gateway/metering/meter/account-charges';
import type { Demand, Meter } from '@gateway/metering/meter/meter';
import { createGate } from '@gateway/simulator/gate';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream } from '@gateway/upstream/upstream';
import { expect, onTestFinished, test } from 'vitest';
import { createCharges } from './session-charges.ts';

const FILE = `
channels: { one: { provider: openai, apiKey: sk-0123456789 } }
models:
  voice: { kind: realtime, price: { inputPerMTok: 4, outputPerMTok: 16 }, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.6 }, routes: [{ channel: one }] }
`;

/** What is charged to a session of a key with these limits, and what waits for the gate. */
function startCharges(limits: Account['limits'], gate = Promise.resolve()) {
  const upstream = createUpstream({ configuration: parseConfiguration(FILE, 'gateway.yaml', {}) });
  onTestFinished(() => upstream.close());
  const [model, transcriber] = ['voice', 'whisper-1'].map((name) => {
    const found = upstream.resolveModel(name);
    if (found === null) throw new Error(`no ${name}`);
    return found;
  });
  if (model === undefined || transcriber === undefined) throw new Error('no models');
  const [candidate] = upstream.candidates({ model, protocol: 'realtime' });
  if (candidate === undefined) throw new Error('no candidate');
  const opener: Identity = {
    ...{ keyId: 'key_1', keyName: 'one', team: null, models: null, endpoints: null },
    accounts: [{ owner: 'key_1', limits, budget: null }],
  };
  const demands: Demand[] = [];
  const settled: string[] = [];
  const meter: Pick<Meter, 'begin' | 'settleOnce'> = {
    begin: async (demand) => {
      await gate;
      demands.push(demand);
      return {
        ...{ release: async () => undefined, keep: async () => true, budgetNotice: null, tokenRate: null },
        settle: async () => void settled.push(demand.subject.model),
      };
    },
    settleOnce: async () => true,
  };
  const charges = createCharges({
    ...{
      meter,
      metrics: { used: () => undefined },
      opener,
      model,
      price: model.price,
      socket: { candidate },
    },
    subjectOf: (name) => ({
      ...{ id: 'req_1', keyId: 'key_1', team: null, endpoint: 'realtime', model: name },
      ...{ startedAtMs: 0, requestId: 'req_1' },
    }),
  });
  /** The limits on sound that one of the demands counts on. */
  const soundLimits = (at: number) => {
    const { accounts = [], subject } = demands[at] ?? {};
    return chargesOf(accounts, subject?.model ?? '', 'UTC')
      .filter(({ dimension }) => dimension === 'audioMs')
      .map(({ limit }) => limit);
  };
  const by = { model: transcriber, price: transcriber.price, upstreamName: 'whisper-1' };
  const transcript = () => charges.transcript({ ...NOTHING_CONSUMED, audioMs: 2000 }, by, false);
  return { charges, settled, soundLimits, transcript };
}

test('sound counts once on each limit: its transcript counts on none that the session counts it on', async () => {
  const { charges, soundLimits, transcript } = startCharges({
    audioSecondsPerMinute: 60,
    models: {
      '*': { audioSecondsPerMinute: 61 },
      'whisper-*': { audioSecondsPerMinute: 62 },
      voice: { audioSecondsPerMinute: 63 },
    },
  });
  await charges.sound(2000);
  await transcript();
  expect(soundLimits(0)).toEqual([60_000, 61_000, 63_000]);
  expect(soundLimits(1)).toEqual([62_000]);
});

test('what is being charged is waited for', async () => {
  const gate = createGate();
  const { charges, settled, transcript } = startCharges({}, gate.opened);
  void charges.sound(2000);
  void transcript();
  let isCharged = false;
  const charged = charges.charged().then(() => {
    isCharged = true;
  });
  await new Promise(setImmediate);
  expect(isCharged).toBe(false);
  gate.open();
  await charged;
  expect(settled).toEqual(['voice', 'whisper-1']);
});
