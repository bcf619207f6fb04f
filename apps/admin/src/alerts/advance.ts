import type { FindingKind } from '@gateway/contracts/findings';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { AlertRule, Alerts } from '@gateway/upstream/configuration/alerts';
import { z } from 'zod';
import { Finding } from '../findings/finding.ts';
import type { Findings } from '../findings/read-findings.ts';
import { Delivery, type SomeFindings } from './message.ts';
import { isQuiet } from './quiet-hours.ts';

/** What has been found, and since when the alerts know of it. */
const Seen = z.strictObject({
  finding: Finding,
  step: z.number(),
  firstMs: z.number(),
  lastMs: z.number(),
});

/** What a receiver was told of a finding. */
const Told = z.strictObject({
  finding: Finding,
  step: z.number(),
  atMs: z.number(),
  repeats: z.int(),
});
type Told = z.infer<typeof Told>;

/** What alerts remember from one round to the next. It is in Redis: the admin services share it. */
export const AlertState = z.strictObject({
  /** By the finding's id. */
  seen: z.record(z.string(), Seen),
  /** By the receiver's name, then the finding's id. */
  told: z.record(z.string(), z.record(z.string(), Told)),
  /** When each receiver was sent its last message. */
  sentMs: z.record(z.string(), z.number()),
  /** The date of the last weekly report; null: none was due since alerts are configured. */
  reportedOn: z.string().nullable(),
  /** Messages that are not in the queue yet. */
  outbox: z.array(Delivery),
});
export type AlertState = z.infer<typeof AlertState>;

export const NO_STATE: AlertState = { seen: {}, told: {}, sentMs: {}, reportedOn: null, outbox: [] };

/** Bounds what is remembered of each kind: more of them have one cause, which the first ones show. */
const MAX_OF_KIND = 1000;
/** So many of each are written out in a message. */
const MAX_IN_MESSAGE = 20;

interface Round {
  readonly findings: Findings;
  readonly alerts: Alerts;
  readonly timeZone: string;
  readonly nowMs: number;
  /** What is gone for so long is over: what comes and goes is one alert. */
  readonly goneMs: number;
  readonly newId: () => string;
}

/**
 * One round: what is told to whom now. A receiver is told of a finding when it has lasted, when it gets worse, again while it lasts
 * (so often as its rule says), and once it is over. What is held back, for quiet hours or to be grouped, is due in a later round.
 */
export function advance(stored: AlertState, round: Round): AlertState {
  const { alerts, nowMs, timeZone, newId } = round;
  const before = notAfter(nowMs, stored);
  const seen = seenNow(before.seen, round);
  const present = new Set(round.findings.all.map(({ finding }) => finding.id));
  const quiet = isQuiet(alerts.quietHours, timeZone, nowMs);
  const isHeld = ({ isUrgent }: Finding): boolean =>
    quiet && !(isUrgent && alerts.quietHours?.holdsUrgent === false);

  const told: AlertState['told'] = {};
  const sentMs: AlertState['sentMs'] = {};
  const outbox = [...before.outbox];
  for (const receiver of alerts.receivers.keys()) {
    const toldBefore = before.told[receiver] ?? {};
    const lastMs = before.sentMs[receiver];
    if (lastMs !== undefined) sentMs[receiver] = lastMs;
    const rules = alerts.rules.filter(({ receivers }) => receivers.includes(receiver));
    const due = dueFor({ toldBefore, seen, present, rules, nowMs });
    const now = {
      opened: due.opened.filter(({ finding }) => !isHeld(finding)),
      continuing: due.continuing.filter(({ finding }) => !isHeld(finding)),
      resolved: due.resolved.filter(({ finding }) => !isHeld(finding)),
    };
    const isAny = now.opened.length + now.continuing.length + now.resolved.length > 0;
    if (!isAny || (lastMs !== undefined && nowMs - lastMs < alerts.groupMs)) {
      told[receiver] = toldBefore;
      continue;
    }
    const after = { ...toldBefore };
    for (const { finding } of now.resolved) delete after[finding.id];
    for (const one of [...now.opened, ...now.continuing]) after[one.finding.id] = one;
    told[receiver] = after;
    sentMs[receiver] = nowMs;
    outbox.push({
      receiver,
      message: {
        ...{ type: 'alert', id: newId(), atMs: nowMs },
        opened: some(now.opened),
        continuing: some(now.continuing),
        resolved: some(now.resolved),
      },
    });
  }
  return { ...before, seen, told, sentMs, outbox };
}

/** A clock that was ahead and has been set right would keep alerts silent until it is there again. */
function notAfter(nowMs: number, { seen, told, sentMs, ...rest }: AlertState): AlertState {
  const past = (atMs: number): number => Math.min(atMs, nowMs);
  const toldOf = (of: Readonly<Record<string, Told>>) =>
    mapped(of, (one) => ({ ...one, atMs: past(one.atMs) }));
  return {
    ...rest,
    seen: mapped(seen, (one) => ({ ...one, firstMs: past(one.firstMs), lastMs: past(one.lastMs) })),
    told: mapped(told, toldOf),
    sentMs: mapped(sentMs, past),
  };
}

const mapped = <Value, Result>(
  of: Readonly<Record<string, Value>>,
  change: (value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));

const some = (told: readonly Told[]): SomeFindings => ({
  findings: told.slice(0, MAX_IN_MESSAGE).map(({ finding }) => finding),
  count: told.length,
});

function seenNow(before: AlertState['seen'], { findings, alerts, nowMs, goneMs }: Round): AlertState['seen'] {
  const now: AlertState['seen'] = {};
  const isUnknown = ({ kind }: Finding): boolean => findings.unknown.has(kind);
  for (const [id, one] of Object.entries(before)) {
    if (isUnknown(one.finding)) now[id] = { ...one, lastMs: nowMs };
    else if (nowMs - one.lastMs < goneMs) now[id] = one;
  }
  const counts = new Map<FindingKind, number>();
  const count = (kind: FindingKind): number => counts.get(kind) ?? 0;
  for (const { finding } of Object.values(now)) counts.set(finding.kind, count(finding.kind) + 1);
  for (const { finding, step } of findings.all) {
    const known = now[finding.id];
    if (known === undefined) {
      // What nobody is told of takes no place.
      const isWanted = alerts.rules.some((rule) => isFor(rule, finding));
      if (!isWanted || count(finding.kind) >= MAX_OF_KIND) continue;
      counts.set(finding.kind, count(finding.kind) + 1);
    }
    now[finding.id] = { finding, step, firstMs: known?.firstMs ?? nowMs, lastMs: nowMs };
  }
  return now;
}

interface Considered {
  readonly toldBefore: Readonly<Record<string, Told>>;
  readonly seen: AlertState['seen'];
  /** What was found in this round. Of anything else it is not known yet whether it is over. */
  readonly present: ReadonlySet<string>;
  readonly rules: readonly AlertRule[];
  readonly nowMs: number;
}

/** What a receiver is to be told: each as it will be remembered. */
function dueFor({ toldBefore, seen, present, rules, nowMs }: Considered) {
  const opened: Told[] = [];
  const continuing: Told[] = [];
  for (const { finding, step, firstMs } of Object.values(seen)) {
    if (!present.has(finding.id)) continue;
    const matching = rules.filter((rule) => isFor(rule, finding));
    if (matching.length === 0) continue;
    const told = toldBefore[finding.id];
    if (told === undefined) {
      const afterMs = Math.min(...matching.map((rule) => rule.afterMs));
      if (nowMs - firstMs >= afterMs) opened.push({ finding, step, atMs: nowMs, repeats: 0 });
    } else if (step > told.step) opened.push({ finding, step, atMs: nowMs, repeats: 0 });
    else if (matching.some((rule) => nowMs - told.atMs >= rule.repeatMs && told.repeats < rule.maxRepeats))
      continuing.push({ finding, step: told.step, atMs: nowMs, repeats: told.repeats + 1 });
  }
  const resolved = Object.values(toldBefore).filter(({ finding }) => seen[finding.id] === undefined);
  return { opened, continuing, resolved };
}

const meets = (wanted: readonly string[] | null, has: readonly string[]): boolean =>
  wanted === null || has.some((name) => wanted.some((pattern) => fitsPattern(pattern, name)));

/** Whether a rule is about a finding. */
export function isFor(rule: AlertRule, { kind, isUrgent, about }: Finding): boolean {
  const isOfKind = (kinds: readonly FindingKind[] | null) => kinds === null || kinds.includes(kind);
  return (
    isOfKind(rule.kinds) &&
    (!rule.isUrgentOnly || isUrgent) &&
    meets(rule.channels, about.channels) &&
    meets(rule.models, about.models) &&
    meets(rule.teams, about.teams)
  );
}
