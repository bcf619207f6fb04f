import { z } from 'zod';

// Each `error` completes the sentence "found …, expected …".

const named = (pattern: RegExp, error: string) => z.string().regex(pattern, { error }).optional();

/** Settings of a channel that only some providers have: where in a cloud the channel is. */
export const channelSettings = {
  region: named(/^[a-z]{2,6}(?:-[a-z]+)+-\d+$/, 'a region, such as eu-central-1'),
  endpoint: z.enum(['runtime', 'mantle', 'invoke']).optional(),
  project: named(/^[\w.:-]{1,128}$/, "a project's id: letters, digits and . : _ -"),
  location: named(/^[a-z]+(?:-[a-z]+\d+)?$/, 'global, us, eu or a region such as europe-west1'),
  resource: named(/^[A-Za-z0-9-]{1,63}$/, "a resource's name, without what follows its first dot"),
  workspaceId: named(/^[\w-]{1,128}$/, "a workspace's id: letters, digits, _ and -"),
  guardrail: z
    .strictObject({
      id: z.string().regex(/^[\x21-\x7e]{1,2048}$/, { error: "a guardrail's id or ARN" }),
      version: z.string().regex(/^(?:\d{1,8}|DRAFT)$/, { error: 'a version such as "1", or DRAFT' }),
      trace: z.enum(['disabled', 'enabled', 'enabled_full']).optional(),
    })
    .optional(),
};

const ChannelSettings = z.object(channelSettings);
export type ChannelSettings = z.infer<typeof ChannelSettings>;
export type SettingName = keyof ChannelSettings;

export const SETTING_NAMES = Object.keys(channelSettings).filter(
  (name): name is SettingName => name in channelSettings,
);

/** What a channel that lacks a setting is told that it needs. */
export const EXPECTED: Readonly<Record<SettingName, string>> = {
  region: 'the region, such as eu-central-1',
  endpoint: 'runtime, mantle or invoke',
  project: "the project's id",
  location: 'global, us, eu or a region such as europe-west1',
  resource: "the resource's name, or a baseUrl",
  workspaceId: "the workspace's id",
  guardrail: 'a mapping with id and version',
};
