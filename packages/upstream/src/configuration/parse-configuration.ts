import type { Environment } from '@gateway/contracts/environment';
import { lookUp } from '@gateway/contracts/look-up';
import { environmentNetwork } from '../connecting/network.ts';
import { AlertsEntry } from './alerts-entry.ts';
import { buildAlerts } from './build/build-alerts.ts';
import { buildChannel } from './build/build-channel.ts';
import { buildContentLog } from './build/build-content-log.ts';
import { buildConversationRules } from './build/build-conversation-rules.ts';
import { buildHook } from './build/build-hooks.ts';
import { buildModel } from './build/build-model.ts';
import { type Channel, type Configuration, type Model, revisionOf } from './configuration.ts';
import { ContentLogEntry } from './content-log-entry.ts';
import { variablesIn } from './expand-variables.ts';
import { ChannelEntry, ConversationsEntry, FileOutline, ModelEntry } from './file-schema.ts';
import type { HookSettings } from './hooks.ts';
import { HookEntry } from './hooks-entry.ts';
import { checkAlerts } from './mistakes/check-alerts.ts';
import { checkChannel, possibleProtocols } from './mistakes/check-channel.ts';
import { checkContentLog } from './mistakes/check-content-log.ts';
import { checkEntry } from './mistakes/check-entry.ts';
import { checkHook } from './mistakes/check-hooks.ts';
import { checkModel, type KnownChannel } from './mistakes/check-model.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { MistakeList, valueAt } from './mistakes/mistake-list.ts';
import { presetFor } from './presets/presets.ts';
import { readYaml } from './yaml-document.ts';

/** Only the admin service sends alerts: the others need not have the variables of this section. */
const ALERTS = 'alerts';

/**
 * Checks a configuration file whole. Throws a `ConfigurationError` with every mistake in the order of the file.
 * With a placeholder, for a process that calls no provider: it stands for each variable that `env` does not have, and what holds
 * such a variable is not checked.
 */
export const parseConfiguration = (
  text: string,
  file: string,
  env: Environment,
  placeholder?: string,
): Configuration => {
  const network = environmentNetwork(env);
  const document = readYaml(text, file, { env, placeholder, optional: ALERTS });
  const mistakes = new MistakeList(document);
  const outline = document.isReadable ? checkEntry(FileOutline, document.value, [], mistakes) : null;

  const channels = new Map<string, Channel>();
  const known = new Map<string, KnownChannel | null>();
  for (const [name, value] of Object.entries(outline?.channels ?? {})) {
    const path = ['channels', name];
    const entry = checkEntry(ChannelEntry, value, path, mistakes);
    known.set(name, entry && knownChannel(entry));
    if (entry === null) continue;
    const complaints = checkChannel(name, entry, env);
    for (const complaint of complaints) mistakes.add(path, complaint);
    if (complaints.length === 0) channels.set(name, buildChannel(name, entry, env, network));
  }

  const models: Model[] = [];
  for (const [name, value] of Object.entries(outline?.models ?? {})) {
    const path = ['models', name];
    const entry = checkEntry(ModelEntry, value, path, mistakes);
    if (entry === null) continue;
    for (const complaint of checkModel(name, entry, known)) mistakes.add(path, complaint);
    models.push(buildModel(name, entry, channels));
  }

  const section = outline?.conversations;
  const rules =
    section === undefined ? null : checkEntry(ConversationsEntry, section, ['conversations'], mistakes);

  const alertsSection = outline?.alerts;
  const alerts =
    alertsSection === undefined ? null : checkEntry(AlertsEntry, alertsSection, [ALERTS], mistakes);
  if (alerts !== null)
    for (const complaint of checkAlerts(alerts, new Set(known.keys()))) mistakes.add([ALERTS], complaint);
  /** The variables of a receiver that this process does not have. */
  const missing = (receiver: string): string[] => {
    const literal = JSON.stringify(valueAt(document.literal, [ALERTS, 'receivers', receiver])) ?? '';
    return variablesIn(literal).filter((name) => !lookUp(env, name));
  };

  const contentSection = outline?.contentLog;
  const contentLog =
    contentSection === undefined
      ? null
      : checkEntry(ContentLogEntry, contentSection, ['contentLog'], mistakes);
  if (contentLog !== null)
    for (const complaint of checkContentLog(contentLog)) mistakes.add(['contentLog'], complaint);

  const hooks: HookSettings[] = [];
  for (const [name, value] of Object.entries(outline?.hooks ?? {})) {
    const path = ['hooks', name];
    const entry = checkEntry(HookEntry, value, path, mistakes);
    if (entry === null) continue;
    const complaints = checkHook(name, entry);
    for (const complaint of complaints) mistakes.add(path, complaint);
    if (complaints.length === 0) hooks.push(buildHook(name, entry));
  }

  if (mistakes.sorted.length > 0) throw new ConfigurationError(file, mistakes.sorted);
  return {
    source: 'file',
    revision: revisionOf(text),
    channels,
    models,
    conversations: buildConversationRules(rules),
    alerts: buildAlerts(alerts, missing),
    contentLog: contentLog && buildContentLog(contentLog),
    hooks,
    network,
  };
};

function knownChannel(entry: ChannelEntry): KnownChannel {
  const preset = presetFor(entry);
  return {
    speaks: entry.speaks ?? preset.speaks,
    speaksOf: entry.speaks === undefined ? (preset.speaksOf ?? null) : null,
    possible: possibleProtocols(preset),
  };
}
