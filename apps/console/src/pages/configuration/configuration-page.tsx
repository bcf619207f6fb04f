import { Skeleton, Stack, Tabs, Text } from '@mantine/core';
import { IconFileOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { useMay } from '../../api/permissions.ts';
import type { Configuration } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { AddProvider } from './add/add-provider.tsx';
import { CheckConfiguration } from './check-configuration.tsx';
import { configurationQuery } from './configuration-query.ts';
import { EditConfiguration } from './edit/edit-configuration.tsx';
import { useDraft } from './edit/use-draft.ts';
import { ReloadState } from './reload-state.tsx';
import { RevisionList } from './revision-list.tsx';
import { YamlEditor } from './yaml-editor.tsx';

const VIEWS = ['loaded', 'edit', 'history', 'check'] as const;

const Search = z.object({
  view: z.catch(z.optional(z.enum(VIEWS)), undefined),
  /** Whether a provider is being added to the draft. */
  add: z.catch(z.optional(z.boolean()), undefined),
});

/** What the gateway is configured to do, whether its last change took effect, and a check of the next one. */
export default function ConfigurationPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const { view = 'loaded', add = false } = search;
  const may = useMay();
  const mayEdit = may('POST /admin/v1/configuration/draft');
  const isAdding = view === 'edit' && add && mayEdit;
  const { data: configuration, error, isPending, refetch } = useQuery(configurationQuery);
  const isStored = configuration?.source === 'database';
  const path = configuration?.path ?? 'gateway.yaml';
  return (
    <Stack gap={0}>
      <PageHeader title="Configuration" about="The loaded configuration, and a check of your next change." />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {configuration && !isAdding && <ReloadState of={configuration} />}
      {/* What is said above the tabs has as many lines as there is to say, and which tabs there are depends on it too. */}
      {isPending ? (
        <Skeleton h={360} animate={false} />
      ) : (
        <Tabs
          value={view}
          onChange={(chosen) =>
            change({ view: VIEWS.find((one) => one === chosen && one !== 'loaded'), add: undefined })
          }
          keepMounted={false}
        >
          <Tabs.List mb="md" display={isAdding ? 'none' : undefined}>
            <Tabs.Tab value="loaded">Loaded</Tabs.Tab>
            {mayEdit && <Tabs.Tab value="edit">Edit</Tabs.Tab>}
            {isStored && <Tabs.Tab value="history">History</Tabs.Tab>}
            <Tabs.Tab value="check">Check a file</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="loaded">
            {configuration && <LoadedConfiguration of={configuration} />}
          </Tabs.Panel>
          {mayEdit && (
            <Tabs.Panel value="edit">
              {configuration && (
                <EditTab
                  of={configuration}
                  isAdding={isAdding}
                  onAdd={() => open({ add: true })}
                  onAdded={() => close('add')}
                />
              )}
            </Tabs.Panel>
          )}
          {isStored && (
            <Tabs.Panel value="history">
              <RevisionList />
            </Tabs.Panel>
          )}
          <Tabs.Panel value="check">
            <CheckConfiguration loaded={configuration?.text ?? null} path={path} />
          </Tabs.Panel>
        </Tabs>
      )}
    </Stack>
  );
}

interface EditTabProps {
  readonly of: Configuration;
  readonly isAdding: boolean;
  readonly onAdd: () => void;
  readonly onAdded: () => void;
}

/** The draft is there as long as the tab is open. */
function EditTab({ of: configuration, isAdding, onAdd, onAdded }: EditTabProps) {
  const draft = useDraft();
  return isAdding ? (
    <AddProvider draft={draft} configuration={configuration} onClose={onAdded} />
  ) : (
    <EditConfiguration draft={draft} path={configuration.path} onAddProvider={onAdd} />
  );
}

/** The configuration's text, without its secrets. */
function LoadedConfiguration({ of: { text, source, path, isValid } }: { of: Configuration }) {
  if (text === null)
    return source === 'file' || !isValid ? (
      <EmptyState icon={IconFileOff} title="A file with mistakes cannot be shown">
        A misspelt member could hold a secret. Paste the file under "Check a file" to see each mistake at its
        line.
      </EmptyState>
    ) : (
      <EmptyState icon={IconFileOff} title="No configuration file">
        Create <code>{path}</code>, starting from <code>gateway.example.yaml</code>. No restart is needed.
      </EmptyState>
    );
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        Secrets are masked and comments are omitted. Variables are shown by name.
      </Text>
      <YamlEditor label="Loaded configuration" text={text} />
    </Stack>
  );
}
