import { createHash } from 'node:crypto';
import type { Protocol } from '../protocol.ts';
import { buildChannel } from './build-channel.ts';
import { buildModel } from './build-model.ts';
import { checkChannel } from './check-channel.ts';
import { checkEntry, mistakeAt } from './check-entry.ts';
import { checkModel } from './check-model.ts';
import type { Channel, Configuration, Model } from './configuration.ts';
import { ConfigurationError, type Mistake } from './configuration-error.ts';
import { ChannelEntry, FileOutline, ModelEntry } from './file-schema.ts';
import { presetOf } from './presets.ts';
import { readYaml } from './yaml-document.ts';

/** A short name for a configuration's text. */
export const revisionOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Checks a configuration file whole. Throws a `ConfigurationError` with every mistake in the order of the file. */
export const parseConfiguration = (
  text: string,
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Configuration => {
  const document = readYaml(text, env);
  const mistakes: Mistake[] = [...document.mistakes];
  const outline =
    document.value === null && mistakes.length > 0
      ? null
      : checkEntry(FileOutline, document.value, [], document, mistakes);

  const channels = new Map<string, Channel>();
  const known = new Map<string, { speaks: readonly Protocol[] } | null>();
  for (const [name, value] of Object.entries(outline?.channels ?? {})) {
    const path = ['channels', name];
    const entry = checkEntry(ChannelEntry, value, path, document, mistakes);
    known.set(name, entry && { speaks: entry.speaks ?? presetOf(entry.provider).speaks });
    if (entry === null) continue;
    const complaints = checkChannel(name, entry);
    for (const complaint of complaints) {
      mistakes.push(mistakeAt(document, [...path, ...complaint.path], complaint.expected, complaint));
    }
    if (complaints.length === 0) channels.set(name, buildChannel(name, entry, env));
  }

  const models: Model[] = [];
  for (const [name, value] of Object.entries(outline?.models ?? {})) {
    const path = ['models', name];
    const entry = checkEntry(ModelEntry, value, path, document, mistakes);
    if (entry === null) continue;
    for (const complaint of checkModel(name, entry, known)) {
      mistakes.push(mistakeAt(document, [...path, ...complaint.path], complaint.expected, complaint));
    }
    models.push(buildModel(name, entry, channels));
  }

  if (mistakes.length > 0) {
    throw new ConfigurationError(
      file,
      mistakes.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)),
    );
  }
  return { source: 'file', revision: revisionOf(text), channels, models };
};
