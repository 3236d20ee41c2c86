import { signal } from '@preact/signals';
import { render } from 'preact';

const text = signal('The console');
render(<main>{text.value}</main>, document.getElementById('app') as HTMLElement);
