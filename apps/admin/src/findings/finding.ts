import { FINDING_KINDS, type FindingKind } from '@gateway/contracts/findings';
import { z } from 'zod';
import { instant } from '../api/schemas/page.ts';

/** What a person can do about a finding, beside reading on. */
export const FINDING_ACTIONS = ['test_channel', 'rest_channel', 'wake_channel'] as const;

const names = z.array(z.string());

/** Something that a person should look at: the page, the API and the alerts say it in these very sentences. */
export const Finding = z.strictObject({
  /** The same for as long as it lasts. */
  id: z.string(),
  kind: z.enum(FINDING_KINDS),
  /** The channel's, team's, queue's or model's name, the key's id, or the file's path. */
  subject: z.string(),
  /** Without times: each reader has a zone. */
  sentence: z.string(),
  /** What it is measured by, and compared with what. */
  comparison: z.string().nullable(),
  /** Whom it touches. */
  affects: z.string().nullable(),
  /** What one can do. */
  advice: z.string(),
  /** What it is about, by name; what rules of alerts select by. */
  about: z.strictObject({
    channels: names,
    models: names,
    teams: names,
    keyId: z.string().nullable(),
  }),
  /** Of the first of its channels. */
  actions: z.array(z.enum(FINDING_ACTIONS)),
  /** Null where that is not known. */
  since: instant.nullable(),
  /** When it ends by itself: a rest is over, a budget starts over. Null where that is not known. */
  until: instant.nullable(),
  /** Callers are refused, or the gateway does not do what its configuration says. */
  isUrgent: z.boolean(),
});
export type Finding = z.infer<typeof Finding>;
export type FindingAction = Finding['actions'][number];

/** A finding as the gateway has it. */
export interface Found {
  readonly finding: Finding;
  /** The key or team that it is about; null: the gateway as a whole, which concerns those who see all of it. */
  readonly whose: { readonly keyId: string; readonly team: string | null } | null;
  /** The step that it has reached, such as a share of a budget. A higher one is news. */
  readonly step: number;
}

/** The members that most findings do not have. */
type Rest = 'comparison' | 'affects' | 'actions' | 'since' | 'until' | 'isUrgent';

export interface NewFinding extends Omit<Finding, Rest | 'about' | 'id'>, Partial<Pick<Finding, Rest>> {
  /** Default: kind and subject. */
  readonly id?: string;
  readonly about?: Partial<Finding['about']>;
  readonly whose?: Found['whose'];
  readonly step?: number;
}

/** Fills in what a finding does not have. */
export function found({ whose = null, step = 0, about, ...known }: NewFinding): Found {
  const nothing = { comparison: null, affects: null, actions: [], since: null, until: null, isUrgent: false };
  const finding = {
    ...nothing,
    id: idOf(known.kind, known.subject),
    ...known,
    about: { channels: [], models: [], teams: [], keyId: null, ...about },
  };
  return { finding, whose, step };
}

export const idOf = (kind: FindingKind, ...parts: readonly string[]): string => [kind, ...parts].join(' ');
