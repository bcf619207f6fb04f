import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useCallback, useState } from 'react';
import type { Configuration, Draft, TriedProvider } from '../../../api/types.ts';
import { PageFailed } from '../../../parts/page/page-failed.tsx';
import { isUnconfigured } from '../configuration-query.ts';
import type { OpenDraft } from '../edit/use-draft.ts';
import classes from './add.module.css';
import { ApplyChannel } from './apply-channel.tsx';
import { ChooseModels } from './choose-models.tsx';
import { ChooseProvider } from './choose-provider.tsx';
import { type ChosenModel, modelEdits, textNames } from './chosen-models.ts';
import { ConnectProvider } from './connect-provider.tsx';
import { type Connection, channelEntryOf, connectionTo } from './connection.ts';
import { FirstAnswer } from './first-answer.tsx';
import { type FirstKey, MakeFirstKey } from './first-key.tsx';
import { Step } from './step.tsx';

const STEPS = ['provider', 'connection', 'models', 'apply', 'key', 'answer'] as const;
type StepName = (typeof STEPS)[number];

const TITLES: Readonly<Record<StepName, string>> = {
  provider: 'Choose a provider',
  connection: 'Connect it',
  models: 'Choose models',
  apply: 'Apply the change',
  key: 'Create a team and a key',
  answer: 'Get a first answer',
};

interface AddProviderProps {
  readonly draft: OpenDraft;
  readonly configuration: Configuration;
  readonly onClose: () => void;
}

/** From nothing to a first answer of a provider. Where it is the first one, also to a first key. */
export function AddProvider({ draft, ...props }: AddProviderProps) {
  if (draft.error && draft.result === undefined)
    return <PageFailed error={draft.error} reset={draft.retry} />;
  if (draft.result === undefined) return <Skeleton h={360} animate={false} />;
  return <Steps draft={draft} before={draft.result} {...props} />;
}

interface StepsProps extends AddProviderProps {
  readonly before: Draft;
}

function Steps({ draft, before: first, configuration, onClose }: StepsProps) {
  // The draft changes on the way, and so does the configuration.
  const [before] = useState(first);
  const [startText] = useState(draft.text);
  const [isFirst] = useState(isUnconfigured(configuration));
  const [open, setOpen] = useState<StepName>('provider');
  const [connection, setConnection] = useState<Connection | null>(null);
  const [tried, setTried] = useState<TriedProvider | null>(null);
  const [chosen, setChosen] = useState<readonly ChosenModel[]>([]);
  const [result, setResult] = useState<Draft | null>(null);
  const [key, setKey] = useState<FirstKey | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const isStored = before.base !== null;
  const steps = STEPS.filter((name) => isFirst || name !== 'key');
  const at = steps.indexOf(open);
  const isApplied = at > steps.indexOf('apply');
  const channel = connection?.name.trim() ?? '';
  const entries = before.entries ?? { channels: {}, models: {} };
  const taken = Object.keys(entries.channels);
  const models = tried === null ? [] : textNames(chosen, tried.models);

  const describe = async (wanted: readonly ChosenModel[]) => {
    if (connection === null) return;
    setChosen(wanted);
    setError(null);
    try {
      const edits = [
        { op: 'set' as const, path: ['channels', channel], value: channelEntryOf(connection) },
        ...modelEdits(channel, wanted, Object.keys(entries.models)),
      ];
      setResult(await draft.edit(edits, { text: startText }));
      setOpen('apply');
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  const { discard } = draft;
  const applied = useCallback(() => {
    discard();
    // The key is in the configuration now, or nowhere.
    setConnection((one) => one && { ...one, key: '' });
    setOpen(isFirst ? 'key' : 'answer');
  }, [discard, isFirst]);

  const stateOf = (name: StepName) => {
    const index = steps.indexOf(name);
    if (index === at) return 'open' as const;
    return index < at ? ('done' as const) : ('ahead' as const);
  };
  const step = (name: StepName) => ({
    number: steps.indexOf(name) + 1,
    title: TITLES[name],
    state: stateOf(name),
  });
  const back = (name: StepName) => (isApplied ? undefined : () => setOpen(name));

  return (
    <Stack gap="sm" maw={880}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {isFirst ? 'Set up the gateway' : 'Add a provider'}
        </Title>
        {!isApplied && (
          <Button
            size="xs"
            variant="subtle"
            color="gray"
            onClick={() => {
              if (startText === undefined) draft.discard();
              else draft.write(startText);
              onClose();
            }}
          >
            Cancel
          </Button>
        )}
      </Group>
      {isFirst && (
        <Text size="sm" c="dimmed">
          No provider is connected yet
          {configuration.source === 'simulator' && ', and the simulator answers in its place'}. Connect one,
          and get a first answer.
        </Text>
      )}
      <ol className={classes.steps}>
        <Step {...step('provider')} outcome={connection?.provider.name} onChange={back('provider')}>
          <ChooseProvider
            onChosen={(provider, baseUrl) => {
              setConnection(connectionTo(provider, { isStored, taken, baseUrl }));
              setTried(null);
              setOpen('connection');
            }}
          />
        </Step>
        <Step
          {...step('connection')}
          outcome={tried && `${channel}: ${aboutTrial(tried)}`}
          onChange={back('connection')}
        >
          {connection !== null && (
            <ConnectProvider
              connection={connection}
              onChange={setConnection}
              taken={taken}
              isStored={isStored}
              onConnected={(found) => {
                setTried(found);
                setError(null);
                setOpen('models');
              }}
            />
          )}
        </Step>
        <Step
          {...step('models')}
          outcome={chosen.map(({ callers }) => callers).join(', ')}
          onChange={back('models')}
        >
          {tried !== null && (
            <ChooseModels
              tried={tried}
              there={Object.keys(entries.models)}
              isPending={draft.isEditing}
              error={error}
              onChosen={(wanted) => void describe(wanted)}
              onBack={() => setOpen('connection')}
            />
          )}
        </Step>
        <Step {...step('apply')} outcome="In use">
          {result !== null && connection !== null && (
            <ApplyChannel
              draft={draft}
              result={result}
              configuration={configuration}
              channel={channel}
              variable={connection.holds === 'variable' ? connection.variable.trim() : ''}
              onApplied={applied}
              onBack={() => setOpen('models')}
            />
          )}
        </Step>
        {isFirst && (
          <Step {...step('key')} outcome={key === null ? 'Skipped' : `${key.name} of the team ${key.team}`}>
            <MakeFirstKey
              model={models[0]}
              onDone={(made) => {
                setKey(made);
                setOpen('answer');
              }}
            />
          </Step>
        )}
        <Step {...step('answer')}>
          <FirstAnswer channel={channel} models={models} keyId={key?.id ?? null} onDone={onClose} />
        </Step>
      </ol>
    </Stack>
  );
}

const aboutTrial = ({ outcome, models, omitted }: TriedProvider): string => {
  const count = models.length + omitted;
  if (outcome === 'accepted') return 'the key is valid';
  return outcome === 'listed' ? `connected, ${count} ${count === 1 ? 'model' : 'models'}` : 'not tried';
};
