import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RevisionHead } from '@gateway/records/configuration/revision-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY } from '../../api/admin-route.ts';
import { instant, page } from '../../api/schemas/page.ts';
import { DraftedConfiguration, type DraftRequest } from '../../configuration/draft.ts';
import type { Revisions } from '../../configuration/revisions.ts';
import { VariableValues } from './variable-values.ts';

const revision = {
  number: z.int(),
  at: instant,
  author: z.string(),
  reason: z.string(),
};
export const RevisionReply = z.strictObject(revision);
export const RevisionPage = page(RevisionReply);
export const RevisionDetailReply = z.strictObject({
  ...revision,
  text: z.string(),
  /** What it changed in the revision before, in words; null where that is deleted. */
  changes: DraftedConfiguration.shape.changes.nullable(),
  /** The same as a unified diff. */
  diff: z.string().nullable(),
  /** Variables whose values are sealed beside the text. */
  sealed: z.array(z.string()),
});

const base = z.int().min(0).optional();
const reason = z.string().trim().min(1).max(500);
const SaveBody = z.strictObject({
  /** The revision that was changed; 0: there is none yet. Absent: whichever is the last one. */
  base,
  text: z.string().max(250_000),
  reason,
  /** New values of variables that the text names. They are sealed, and never shown again. */
  secrets: VariableValues.optional(),
});
const RestoreBody = z.strictObject({ base, reason });
const ListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  /** `next` of the page before. */
  cursor: z.coerce.number().int().min(1).optional(),
});
const NO_QUERY = z.strictObject({});

interface RevisionRoutesOptions {
  /** Null: the file is the truth. */
  readonly revisions: Revisions | null;
  /** Compares one text with another. */
  readonly compare: (request: DraftRequest) => Promise<z.infer<typeof DraftedConfiguration>>;
}

/** The revisions of the configuration, where the database has it. */
export function revisionRoutes({ revisions, compare }: RevisionRoutesOptions): AdminRoute[] {
  const stored = (): Revisions => {
    if (revisions !== null) return revisions;
    throw new GatewayError(
      'object_not_found',
      'The configuration is in a file, and is changed there. Set CONFIGURATION_SOURCE=database to change it here.',
    );
  };
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/configuration/revisions',
      summary: 'Who changed the configuration when, and why; the newest first',
      query: ListQuery,
      body: NO_BODY,
      reply: RevisionPage,
      handle: async ({ query: { limit, cursor } }) => {
        const found = await stored().list({ limit: limit + 1, before: cursor });
        const shown = found.slice(0, limit);
        const last = shown.at(-1);
        return {
          data: shown.map(shownHead),
          next: found.length > limit && last !== undefined ? String(last.number) : null,
        };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/configuration/revisions/{number}',
      summary: 'A revision of the configuration, and what it changed',
      query: NO_QUERY,
      body: NO_BODY,
      reply: RevisionDetailReply,
      handle: async ({ parameter }) => {
        const found = await stored().get(numberOf(parameter));
        const before =
          found.number === 1
            ? null
            : await stored()
                .get(found.number - 1)
                .catch(() => null);
        const compared = before && (await compare({ base: before.text, text: found.text }));
        return {
          ...shownHead(found),
          text: found.text,
          changes: compared?.changes ?? null,
          diff: compared?.diff ?? null,
          sealed: Object.keys(found.secrets).toSorted(),
        };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/configuration/revisions',
      summary: 'Change the configuration; all services follow within a second or two',
      query: NO_QUERY,
      body: SaveBody,
      takesLines: true,
      reply: RevisionReply,
      handle: async ({ body, by }) => shownHead(await stored().save(body, by)),
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/configuration/revisions/{number}/restore',
      summary: 'Make the text of an earlier revision the configuration again, as a new revision',
      query: NO_QUERY,
      body: RestoreBody,
      reply: RevisionReply,
      handle: async ({ parameter, body, by }) =>
        shownHead(await stored().restore(numberOf(parameter), body, by)),
    }),
  ];
}

const shownHead = ({ number, atMs, author, reason: why }: RevisionHead) => ({
  ...{ number, author, reason: why },
  at: new Date(atMs).toISOString(),
});

function numberOf(parameter: string): number {
  const number = Number(parameter);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new GatewayError('object_not_found', `There is no revision '${parameter.slice(0, 40)}'.`);
}
