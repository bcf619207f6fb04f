import type { FindingKind } from '@gateway/contracts/findings';
import type { Alerts } from '@gateway/upstream/configuration/alerts';
import type { AlertsEntry } from '@gateway/upstream/configuration/alerts-entry';
import { buildAlerts } from '@gateway/upstream/configuration/build/build-alerts';
import { expect, test } from 'vitest';
import { type Found, found, type NewFinding } from '../findings/finding.ts';
import { type AlertState, advance, isFor, NO_STATE } from './advance.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A Thursday. */
const NOON = Date.parse('2026-11-26T12:00:00Z');

const finding = (subject: string, more: Partial<NewFinding> = {}): Found =>
  found({ kind: 'channel_resting', subject, sentence: `${subject} rests.`, advice: 'Wake it.', ...more });

const alertsOf = (entry: Partial<AlertsEntry> = {}): Alerts =>
  buildAlerts(
    {
      receivers: { ops: { type: 'slack', url: 'https://hooks.example.com/a' } },
      rules: [{ receivers: ['ops'] }],
      ...entry,
    },
    () => [],
  );

/** Alerts over a time, each round with what was found then. */
function play(entry?: Partial<AlertsEntry>, startMs = NOON) {
  let state: AlertState = NO_STATE;
  let nowMs = startMs;
  let ids = 0;
  const alerts = alertsOf(entry);
  return {
    /** What is sent in a round, as `receiver: +opened ~continuing -resolved`. */
    round(all: readonly Found[], unknown: readonly FindingKind[] = []): string[] {
      const findings = { all, unknown: new Set(unknown) };
      const goneMs = 90_000;
      const newId = () => `msg_${++ids}`;
      // Redis has it as text.
      state = JSON.parse(
        JSON.stringify(
          advance({ ...state, outbox: [] }, { findings, alerts, nowMs, goneMs, newId, timeZone: 'UTC' }),
        ),
      );
      return state.outbox.map(({ receiver, message }) => {
        if (message.type !== 'alert') return message.type;
        const texts = (['opened', 'continuing', 'resolved'] as const).flatMap((which, at) =>
          message[which].findings.map(({ subject }) => `${'+~-'[at]}${subject}`),
        );
        return `${receiver}: ${texts.join(' ')}`;
      });
    },
    later(ms: number) {
      nowMs += ms;
    },
    get state() {
      return state;
    },
  };
}

test('a finding is sent once it has lasted, not again while it lasts, and as resolved once it is gone for good', () => {
  const { round, later } = play();
  const all = [finding('a')];
  expect(round(all)).toEqual([]);
  later(MINUTE_MS);
  expect(round(all)).toEqual(['ops: +a']);
  later(MINUTE_MS);
  expect(round(all)).toEqual([]);
  later(30_000);
  expect(round([])).toEqual([]);
  // It came back: that is no news.
  later(30_000);
  expect(round(all)).toEqual([]);
  later(MINUTE_MS);
  expect(round([])).toEqual([]);
  later(MINUTE_MS);
  expect(round([])).toEqual(['ops: -a']);
  later(MINUTE_MS);
  expect(round([])).toEqual([]);
});

test('what comes and goes before it has lasted is not sent at all', () => {
  const { round, later } = play();
  round([finding('a')]);
  later(30_000);
  expect(round([])).toEqual([]);
  later(5 * MINUTE_MS);
  expect(round([])).toEqual([]);
});

test('what is due at a time is one message, and a receiver gets one in a while', () => {
  const { round, later } = play({ rules: [{ receivers: ['ops'], afterSeconds: 0 }], groupSeconds: 120 });
  expect(round([finding('a'), finding('b')])).toEqual(['ops: +a +b']);
  later(MINUTE_MS);
  expect(round([finding('a'), finding('b'), finding('c')])).toEqual([]);
  later(MINUTE_MS);
  expect(round([finding('a'), finding('c'), finding('d')])).toEqual(['ops: +c +d']);
});

test('a message has the first findings of many and says how many there are', () => {
  const { round, state } = play({ rules: [{ receivers: ['ops'], afterSeconds: 0 }] });
  expect(state.outbox).toEqual([]);
  const many = Array.from({ length: 1500 }, (_, at) => finding(`channel-${at}`));
  const player = play({ rules: [{ receivers: ['ops'], afterSeconds: 0 }] });
  player.round(many);
  expect(player.state.outbox[0]?.message).toMatchObject({ opened: { count: 1000 } });
  expect(JSON.stringify(player.state.outbox).length).toBeLessThan(20_000);
  expect(round([])).toEqual([]);
});

test('very many findings of a kind, and those that nobody is told of, leave room for others', () => {
  const rules = [
    { receivers: ['ops'], afterSeconds: 0, kinds: ['budget_spent', 'channel_resting'] as const },
  ];
  const { round, later } = play({ rules: rules.map((rule) => ({ ...rule, kinds: [...rule.kinds] })) });
  const many = (kind: FindingKind) =>
    Array.from({ length: 1000 }, (_, at) => finding(`key_${at}`, { kind, isUrgent: true }));
  round([...many('budget_spent'), ...many('key_expiring')]);
  later(MINUTE_MS);
  expect(round([...many('budget_spent'), ...many('key_expiring'), finding('a')])).toEqual(['ops: +a']);
});

test('a clock that was ahead and is set right keeps nothing silent', () => {
  const { round, later } = play();
  const all = [finding('a')];
  round(all);
  later(MINUTE_MS);
  expect(round(all)).toEqual(['ops: +a']);
  later(-1000 * HOUR_MS);
  expect(round([...all, finding('b')])).toEqual([]);
  later(MINUTE_MS);
  expect(round([finding('b')])).toEqual(['ops: +b']);
  later(MINUTE_MS);
  expect(round([finding('b')])).toEqual(['ops: -a']);
});

test('a finding that lasts is said again as often as the rule says', () => {
  const rules = [{ receivers: ['ops'], afterSeconds: 0, repeatHours: 1, maxRepeats: 2 }];
  const { round, later } = play({ rules });
  const all = [finding('a')];
  const sent = Array.from({ length: 10 }, () => {
    const now = round(all);
    later(HOUR_MS / 2);
    return now;
  });
  expect(sent.flat()).toEqual(['ops: +a', 'ops: ~a', 'ops: ~a']);
});

test('each share of a budget is news, and one that is no longer reached is not', () => {
  const { round, later } = play({ rules: [{ receivers: ['ops'], afterSeconds: 0 }] });
  const budget = (step: number) => [finding('key_a', { id: 'budget key key_a', kind: 'budget_near', step })];
  const sent = [1, 2, 2, 1, 3].map((step) => {
    later(2 * MINUTE_MS);
    return round(budget(step));
  });
  expect(sent).toEqual([['ops: +key_a'], ['ops: +key_a'], [], [], ['ops: +key_a']]);
});

test('what cannot be looked at is not resolved', () => {
  const { round, later } = play({ rules: [{ receivers: ['ops'], afterSeconds: 0 }] });
  round([finding('a'), finding('b', { kind: 'model_slow' })]);
  later(5 * MINUTE_MS);
  expect(round([finding('a')], ['model_slow'])).toEqual([]);
  later(5 * MINUTE_MS);
  expect(round([finding('a')], ['model_slow'])).toEqual([]);
  later(30_000);
  expect(round([finding('a')])).toEqual([]);
  later(5 * MINUTE_MS);
  expect(round([finding('a')])).toEqual(['ops: -b']);
});

test('quiet hours hold what is not urgent until they end, and what is over by then is not sent', () => {
  const rules = [{ receivers: ['ops'], afterSeconds: 0 }];
  const quietHours = { from: '22:00', to: '07:00' };
  const { round, later } = play({ rules, quietHours }, Date.parse('2026-11-26T21:59:00Z'));
  const early = finding('early');
  expect(round([early])).toEqual(['ops: +early']);
  later(5 * MINUTE_MS);
  const night = finding('night');
  expect(round([early, night, finding('short'), finding('fire', { isUrgent: true })])).toEqual([
    'ops: +fire',
  ]);
  later(5 * MINUTE_MS);
  // Early and fire are gone: the second may be said at night.
  expect(round([night])).toEqual(['ops: -fire']);
  later(9 * HOUR_MS);
  expect(round([night])).toEqual(['ops: +night -early']);
});

test('quiet hours may hold urgent findings, too', () => {
  const rules = [{ receivers: ['ops'], afterSeconds: 0 }];
  const quietHours = { from: '10:00', to: '14:00', urgent: 'hold' as const };
  const { round, later } = play({ rules, quietHours });
  const fire = [finding('fire', { isUrgent: true })];
  expect(round(fire)).toEqual([]);
  later(2 * HOUR_MS);
  expect(round(fire)).toEqual(['ops: +fire']);
});

test('each receiver gets what its rules say, and one that is configured later gets what lasts', () => {
  const url = 'https://hooks.example.com/a';
  const receivers = { ops: { type: 'slack' as const, url }, search: { type: 'teams' as const, url } };
  const rules = [
    { receivers: ['ops'], afterSeconds: 0, severity: 'urgent' as const },
    { receivers: ['search'], afterSeconds: 0, teams: ['search'] },
  ];
  const { round } = play({ receivers, rules });
  const all = [
    finding('a', { isUrgent: true }),
    finding('b', { about: { teams: ['search', 'ads'] } }),
    finding('c'),
  ];
  expect(round(all)).toEqual(['ops: +a', 'search: +b']);
});

test.for([
  [{}, true],
  [{ kinds: ['model_slow'] }, true],
  [{ kinds: ['budget_near'] }, false],
  [{ severity: 'urgent' }, false],
  [{ severity: 'any' }, true],
  [{ models: ['claude-*'] }, true],
  [{ models: ['gpt-*'] }, false],
  [{ channels: ['anthropic'], teams: ['search'] }, true],
  [{ channels: ['anthropic'], teams: ['ads'] }, false],
] as const)('a rule with %o is about a slow model at a channel: %s', ([entry, expected]) => {
  const about = { models: ['claude-sonnet-5-5'], channels: ['anthropic'], teams: ['search'] };
  const { finding: slow } = finding('claude-sonnet-5-5', { kind: 'model_slow', about });
  const { kinds, ...rest } = { kinds: undefined, ...entry };
  const [rule] = alertsOf({
    rules: [
      {
        receivers: ['ops'],
        ...(kinds && { kinds: [...kinds] }),
        ...Object.fromEntries(
          Object.entries(rest).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
        ),
      },
    ],
  }).rules;
  expect(rule && isFor(rule, slow)).toBe(expected);
});
