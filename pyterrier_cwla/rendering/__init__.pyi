from .figures import plot_stops as plot_stops
