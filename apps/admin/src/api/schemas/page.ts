import { z } from 'zod';

/** What the admin API answers. Lists are pages: `next` is the `cursor` of the next one, null on the last. */
export const instant = z.iso.datetime({ offset: true });
export const page = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item), next: z.string().nullable() });

/** Sentences about what was done but is unlikely to be intended. */
export const warnings = z.array(z.string());

/** A page of a list whose `next` has this form. */
export const pageQuery = (next: RegExp) =>
  z.strictObject({
    limit: z.coerce.number().int().min(1).max(200).default(50),
    /** `next` of the page before. */
    cursor: z.string().regex(next, "it is not the 'next' of a page").optional(),
  });
