import { Button, Menu, Stack, TextInput } from '@mantine/core';
import { IconBookmark, IconPlus, IconTrash } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import * as z from 'zod/mini';
import { BASE_PATH } from '../../api/base-path.ts';
import { Dialog } from '../dialog.tsx';
import { FormEnd } from '../form-end.tsx';

const View = z.object({ name: z.string(), search: z.record(z.string(), z.unknown()) });
const Views = z.array(View);
type View = z.output<typeof View>;

const MAX_VIEWS = 50;

interface SavedViewsProps {
  /** The page's path. */
  readonly page: string;
  /** Members of the address that open something, and belong to no view. */
  readonly without: readonly string[];
}

/** Another gateway may be below another path of the same host. */
const storedAt = (page: string): string => `gateway-views ${BASE_PATH}${page}`;

function viewsOf(page: string): View[] {
  try {
    return Views.parse(JSON.parse(localStorage.getItem(storedAt(page)) ?? '[]'));
  } catch {
    // Of another version of the console.
    return [];
  }
}

/** Views of a page under names, in this browser. An address does the same for others. */
export function SavedViews({ page, without }: SavedViewsProps) {
  const [views, setViews] = useState(() => viewsOf(page));
  const [isNaming, setNaming] = useState(false);
  const raw = useSearch({ strict: false });
  const navigate = useNavigate();
  /** Changes the views as they are by now: another tab may have saved some. */
  const store = (changed: (before: View[]) => View[]): void => {
    const next = changed(viewsOf(page));
    localStorage.setItem(storedAt(page), JSON.stringify(next));
    setViews(next);
  };
  const save = (name: string): void => {
    const search = Object.fromEntries(Object.entries(raw).filter(([member]) => !without.includes(member)));
    store((before) => [...before.filter((view) => view.name !== name), { name, search }].slice(-MAX_VIEWS));
    setNaming(false);
  };
  return (
    <>
      <Menu position="bottom-end" withinPortal onOpen={() => setViews(viewsOf(page))}>
        <Menu.Target>
          <Button variant="default" size="xs" leftSection={<IconBookmark size={14} aria-hidden />}>
            Views
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.length > 0 && <Menu.Label>Saved in this browser</Menu.Label>}
          {views.map(({ name, search }) => (
            <Menu.Item key={name} onClick={() => void navigate({ to: '.', search: () => search })}>
              {name}
            </Menu.Item>
          ))}
          <Menu.Item leftSection={<IconPlus size={14} aria-hidden />} onClick={() => setNaming(true)}>
            Save this view
          </Menu.Item>
          {views.length > 0 && <Menu.Divider />}
          {views.map(({ name }) => (
            <Menu.Item
              key={name}
              leftSection={<IconTrash size={14} aria-hidden />}
              closeMenuOnClick={false}
              onClick={() => store((before) => before.filter((view) => view.name !== name))}
            >
              Delete {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isNaming && <NameView onSave={save} onClose={() => setNaming(false)} />}
    </>
  );
}

function NameView({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState('');
  return (
    <Dialog onClose={onClose} title="Save this view">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') onSave(name.trim());
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="Its range and filters are saved in this browser. To share a view, send its address."
            maxLength={60}
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <FormEnd action="Save" isPending={false} error={null} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}
