import { z } from 'zod';

/** A member of the configuration, such as `["models", "gpt-5", "routes", 0, "weight"]`. */
const EditedPath = z
  .array(z.union([z.string().min(1), z.int().min(0)]))
  .min(1)
  .max(20);

/** One change of a configuration's text: a member is set or removed, or a list gets another entry. */
export const ConfigurationEdit = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('set'), path: EditedPath, value: z.unknown() }),
  z.strictObject({ op: z.literal('add'), path: EditedPath, value: z.unknown() }),
  z.strictObject({ op: z.literal('remove'), path: EditedPath }),
]);
export type ConfigurationEdit = z.infer<typeof ConfigurationEdit>;
