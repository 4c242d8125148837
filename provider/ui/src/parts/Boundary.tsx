import { Component, type ReactNode } from "react";

/** Shows what went wrong below instead of an empty page. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) {
      return this.props.children;
    }
    return (
      <div className="pt-note pt-note--error" role="alert">
        <strong>This page has a fault.</strong>
        <p>{error.message}</p>
        <button type="button" className="pt-button" onClick={() => this.setState({ error: null })}>
          Show it again
        </button>
      </div>
    );
  }
}
